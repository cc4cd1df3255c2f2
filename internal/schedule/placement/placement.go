package placement

import (
	"cmp"
	"slices"
	"sync"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Assignment is the decision that a target runs on a cluster type.
type Assignment struct {
	ClusterType *fleet.ClusterType
	Target      *fleet.Target
	// Policies are the names of all policies that select the pair, sorted. The slice is shared; do not change it.
	Policies []string
	// DependsOn are the targets on the same cluster type that the target depends on, sorted by name.
	DependsOn []*fleet.Target
	// Wave is 0 for a target that depends on nothing, and otherwise one more than that of what it depends on.
	Wave int
	// Held explains why the assignment lacks something that it needs: it must not be added, or changed if it is published. Nil
	// if it lacks nothing.
	Held *fleet.Problem
}

// Decisions are the assignments of one environment. They are immutable and safe for concurrent use.
type Decisions struct {
	environment  string
	targets      []*fleet.Target      // sorted by name
	clusterTypes []*fleet.ClusterType // sorted by name
	candidates   []candidates         // one for each policy, sorted by policy name
	selected     selected

	targetIndex, clusterTypeIndex *index             // for hints and explanations
	unreadable                    []fleet.Unreadable // for hints
	elsewhere                     map[string]string  // for hints

	deps [][]*dependency  // by target; nil if no target depends on another one
	held map[located]lack // the first reason of each assignment that lacks something
	// standing is what is published; empty if no target depends on another one.
	standing standing

	options  Options
	problems []fleet.Problem
	digest   fleet.Digest // of everything that decides; zero if it is not known

	mu         sync.Mutex
	lastTraced *solver
}

// Decide assigns the targets of a snapshot to its cluster types.
// It is deterministic and does not depend on the order of the objects.
func Decide(s *fleet.Snapshot, o Options) *Decisions {
	d := newDecisions(s, o)
	d.digest = d.inputs(s)
	if d.isPlain() {
		d.meetNeeds(o, nil)
	} else if !d.reuse() {
		solved := d.solve(o, nil)
		d.problems = append(d.problems, solved.problems()...)
		d.meetNeeds(o, solved)
	}
	d.selected = selectAll(d.candidates, len(d.targets), len(d.clusterTypes))
	return d
}

// newDecisions returns decisions with candidates, but without assignments.
func newDecisions(s *fleet.Snapshot, o Options) *Decisions {
	d := &Decisions{
		options:      o,
		environment:  s.Environment,
		unreadable:   s.Unreadable,
		elsewhere:    s.Elsewhere,
		targets:      sortedByName(s.Targets, func(t *fleet.Target) string { return t.Name }),
		clusterTypes: sortedByName(s.ClusterTypes, func(ct *fleet.ClusterType) string { return ct.Name }),
	}
	d.targetIndex = newIndex(targetObjects(d.targets))
	d.clusterTypeIndex = newIndex(clusterTypeObjects(d.clusterTypes))
	policies := sortedByName(s.Policies, func(p *fleet.Policy) string { return p.Name })

	d.candidates = filter(policies, d.targetIndex, d.clusterTypeIndex)
	return d
}

// Stateful reports whether decisions about a snapshot depend on what is published.
func Stateful(s *fleet.Snapshot) bool {
	d := newDecisions(&fleet.Snapshot{Policies: s.Policies, ClusterTypes: s.ClusterTypes, Targets: s.Targets}, Options{})
	return !d.isPlain() || d.depends()
}

// Problems returns the problems of deciding, sorted: questions without an answer, expressions that cannot be evaluated, and
// targets without a place.
func (d *Decisions) Problems() []fleet.Problem { return fleet.SortProblems(slices.Clone(d.problems)) }

// For returns the assignments to a cluster type, sorted by target name. It is empty for an unknown cluster type.
// The caller owns the slice.
func (d *Decisions) For(clusterType string) []Assignment {
	i, ok := d.clusterType(clusterType)
	if !ok {
		return nil
	}
	row := d.selected.rows[i]
	assignments := make([]Assignment, len(row.targets))
	for n, target := range row.targets {
		assignments[n] = Assignment{
			ClusterType: d.clusterTypes[i],
			Target:      d.targets[target],
			Policies:    d.selected.lists.names[row.policies[n]],
		}
	}
	d.addNeeds(int32(i), row.targets, assignments)
	return assignments
}

func (d *Decisions) clusterType(name string) (int, bool) {
	return slices.BinarySearchFunc(d.clusterTypes, name, func(ct *fleet.ClusterType, name string) int {
		return cmp.Compare(ct.Name, name)
	})
}

func sortedByName[T any](objects []T, name func(T) string) []T {
	return slices.SortedFunc(slices.Values(objects), func(a, b T) int { return cmp.Compare(name(a), name(b)) })
}
