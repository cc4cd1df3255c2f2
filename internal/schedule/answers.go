package schedule

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// Answers keeps plans of merges by the commits that they were made of: the same commits make the same plan. Plans of what is
// pending are not kept: they read the GitOps branch when their differences are shown, for as long as their context lasts.
// It is only ever faster to have some. It is safe for concurrent use; the zero value is ready, and nil keeps nothing.
type Answers struct {
	mu sync.Mutex
	// kept are in the order in which they were last asked for, the latest first.
	kept []keptPlan
}

type keptPlan struct {
	key string
	planned
}

// planned is the plan of an environment, with the errors that it brings in.
type planned struct {
	plan     *plan.Plan
	problems []fleet.Problem
}

// The bounds of what is kept: plans, and the assignments of all of them, which hold on to the files that differ.
const (
	maxAnswers         = 16
	maxKeptAssignments = 50_000
)

// answerKey names everything that a plan is made of. What could not be read has no commit, and shows in the number of problems.
func answerKey(before, after *Loaded) string {
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

// get returns what is kept, or makes it.
func (a *Answers) get(key string, make func() (planned, error)) (planned, error) {
	if a == nil {
		return make()
	}
	if known, ok := a.find(key); ok {
		return known, nil
	}
	made, err := make()
	if err == nil {
		a.keep(keptPlan{key, made})
	}
	return made, err
}

func (a *Answers) find(key string) (planned, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.kept, func(k keptPlan) bool { return k.key == key })
	if i < 0 {
		return planned{}, false
	}
	found := a.kept[i]
	a.kept = slices.Insert(slices.Delete(a.kept, i, i+1), 0, found)
	return found.planned, true
}

func (a *Answers) keep(one keptPlan) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept = slices.DeleteFunc(a.kept, func(k keptPlan) bool { return k.key == one.key })
	a.kept = slices.Insert(a.kept, 0, one)
	room := maxKeptAssignments
	for i, k := range a.kept {
		c := k.plan.Counts
		if room -= c.Added + c.Changed + c.Removed + c.Held + c.Unchanged; room < 0 || i == maxAnswers {
			a.kept = slices.Delete(a.kept, i, len(a.kept))
			return
		}
	}
}
