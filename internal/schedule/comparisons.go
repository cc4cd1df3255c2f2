package schedule

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Comparisons is a cache of the latest drafts with a base, by the commits of both sides. It does not keep drafts that
// are compared with the GitOps branch, because their differences are read from it later, with a context that ends.
// It is safe for concurrent use. The zero value is ready to use; nil keeps nothing.
type Comparisons struct {
	mu sync.Mutex
	// kept has the latest one first.
	kept []comparison
}

type comparison struct {
	key   string
	draft *Draft
}

// Limits of what is kept: drafts, and the assignments in all of them.
const (
	maxComparisons     = 16
	maxKeptAssignments = 50_000
)

// comparisonKey identifies the commits of both sides. A source that could not be read has none, but a problem, and so has
// a name that depends on what is published. standing is the commit of the GitOps branch, if decisions depend on it.
func comparisonKey(before, after *Loaded, standing string) string {
	var b strings.Builder
	b.WriteString(after.Snapshot.Environment + " " + standing)
	for _, l := range []*Loaded{before, after} {
		fmt.Fprintf(&b, "\n%s %d", l.controlPlane, len(l.Snapshot.Problems))
		for _, p := range l.Snapshot.Problems {
			if p.Kind == fleet.KindDuplicate {
				fmt.Fprintf(&b, " %q", p.Message)
			}
		}
		for _, input := range l.Inputs.All() {
			fmt.Fprintf(&b, " %s@%s", input.Repo, input.Commit)
		}
	}
	return b.String()
}

// get returns the draft of a key, and makes it if it is not kept.
func (c *Comparisons) get(key string, make func() (*Draft, error)) (*Draft, error) {
	if c == nil {
		return make()
	}
	if known := c.find(key); known != nil {
		return known, nil
	}
	made, err := make()
	if err == nil {
		c.keep(comparison{key, made})
	}
	return made, err
}

func (c *Comparisons) find(key string) *Draft {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.kept, func(k comparison) bool { return k.key == key })
	if i < 0 {
		return nil
	}
	found := c.kept[i]
	c.kept = slices.Insert(slices.Delete(c.kept, i, i+1), 0, found)
	return found.draft
}

func (c *Comparisons) keep(made comparison) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = slices.DeleteFunc(c.kept, func(k comparison) bool { return k.key == made.key })
	c.kept = slices.Insert(c.kept, 0, made)
	room := maxKeptAssignments
	for i, k := range c.kept {
		n := k.draft.Plan.Counts
		if room -= n.Added + n.Changed + n.Removed + n.Held + n.Unchanged; room < 0 || i == maxComparisons {
			c.kept = slices.Delete(c.kept, i, len(c.kept))
			return
		}
	}
}
