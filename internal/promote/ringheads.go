package promote

import (
	"context"
	"fmt"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// ringHead is a commit of a ring's branch, and the commit that it was derived from.
type ringHead struct{ head, origin string }

// recordHeads records the commits of the branches of platform rings, so that the ledger knows what the clusters run that follow them.
func (r *round) recordHeads(ctx context.Context) error {
	var failed error
	for _, l := range r.lanes[1:] {
		place := r.place(l.environment)
		if place.Rings == nil || !place.Rings.Platform {
			continue
		}
		for _, stages := range [][]RingState{place.Rings.Stages, place.Rings.Former} {
			for i := range stages {
				if err := r.recordHead(ctx, place, &stages[i]); err != nil {
					failed = joinIn(place.Environment, failed, err)
				}
			}
		}
	}
	return failed
}

// recordHead records the commit of a branch once.
func (r *round) recordHead(ctx context.Context, place EnvironmentState, s *RingState) error {
	key := place.GitOps.Repository + " " + s.Branch
	now := ringHead{s.Head, s.Commit}
	if s.Head == "" || s.Commit == "" || s.Unknown != "" || r.subject.heads[key] == now {
		return nil
	}
	c := ledger.Commit{
		Repository: place.GitOps.Repository, Branch: s.Branch, SHA: s.Head, Kind: ledger.BranchRing, Environment: place.Environment,
		SourceCommit: r.source(place.Environment+"/", s.Commit), Origin: s.Commit, Recorded: r.at,
	}
	if at := place.Rings.position(s.Commit); at >= 0 {
		c.Committed = place.Rings.Line[at].Time
	}
	if err := r.Ledger.RecordCommit(ctx, c); err != nil {
		return fmt.Errorf("record the commit of branch %q: %w", s.Branch, err)
	}
	if r.subject.heads == nil {
		r.subject.heads = map[string]ringHead{}
	}
	r.subject.heads[key] = now
	return nil
}
