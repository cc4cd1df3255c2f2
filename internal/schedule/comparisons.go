package schedule

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Comparisons keeps the latest drafts with a base, by the commits of both sides: the same commits make the same draft.
// Drafts that are compared with the GitOps branch are not kept, because their differences are read from it later,
// with a context that ends. Comparisons is a cache: it is safe for concurrent use, its zero value is ready to use,
// and nil keeps nothing.
type Comparisons struct {
	mu sync.Mutex
	// kept has the latest one first.
	kept []comparison
}

type comparison struct {
	key   string
	draft *Draft
}

// Limits of what is kept: drafts, and the assignments in all of them, which keep the files that differ in memory.
const (
	maxComparisons     = 16
	maxKeptAssignments = 50_000
)

// comparisonKey names the commits of both sides. A source that could not be read has no commit; it counts as a problem.
func comparisonKey(before, after *Loaded) string {
	var b strings.Builder
	b.WriteString(after.Snapshot.Environment)
	for _, l := range []*Loaded{before, after} {
		fmt.Fprintf(&b, "\n%s %d", l.controlPlane, len(l.Snapshot.Problems))
		for _, input := range l.Inputs.all() {
			fmt.Fprintf(&b, " %s@%s", input.Repo, input.Commit)
		}
	}
	return b.String()
}

// get returns the draft of a key, which it makes if it is not kept.
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

// find returns the draft of a key; nil if it is not kept.
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
