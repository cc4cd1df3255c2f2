package deliver

import (
	"context"

	"github.com/kalypso-io/kalypso/internal/deliver/tree"
)

// PinnedSince is the pin of a target, with who asked for it and the commit that brought it.
type PinnedSince struct {
	tree.Pin
	tree.Request
	// Since is the commit of the GitOps branch; nil if it is older than those that were read.
	Since *Merge `json:"since,omitempty"`
}

// maxPinned is how many inventories are read to find when a target was pinned.
const maxPinned = 200

// pinnedSince returns the pin of a target at the newest of some commits; nil if it has none.
func pinnedSince(ctx context.Context, a *Application, commits []PastCommit, more bool, root, target string) (*PinnedSince, error) {
	_, changed, err := changedAt(ctx, commits, more, tree.InventoryPath(root, a.Workload.Name))
	if err != nil {
		return nil, err
	}
	var found *PinnedSince
	first := -1
	for n, i := range changed {
		if n == maxPinned {
			return found, nil
		}
		all, _, err := commits[i].targets(ctx, root, a.Workload.Name)
		if err != nil {
			return nil, err
		}
		now := all[target]
		switch {
		case found == nil && now.Pin.IsZero():
			return nil, nil
		case found == nil:
			found = &PinnedSince{Pin: now.Pin, Request: now.Request}
		case now.Pin != found.Pin:
			return found, found.since(ctx, commits[first])
		}
		first = i
	}
	if found == nil || more {
		return found, nil
	}
	return found, found.since(ctx, commits[first])
}

func (p *PinnedSince) since(ctx context.Context, c PastCommit) error {
	m, err := c.merge(ctx)
	p.Since = &m
	return err
}

// Pinned returns the targets that do not follow their environment, by name, with who asked for that.
func (g *GitOps) Pinned() []PinnedTarget {
	if g.Published == nil {
		return nil
	}
	var all []PinnedTarget
	for _, t := range g.Published.Targets {
		if !t.Pin.IsZero() {
			all = append(all, PinnedTarget{t.Name, t.Pin, t.Request})
		}
	}
	return all
}
