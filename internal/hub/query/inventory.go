package query

import (
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
	"github.com/kalypso-io/kalypso/internal/text/natural"
)

// inventory holds the targets and assignments that an environment should have. It is immutable.
type inventory struct {
	targets []*target // by name
	// clusterTypes holds the labels of each cluster type.
	clusterTypes map[string]map[string]string
}

// target is a deployment target with its assignments.
type target struct {
	name, shortName, workload, workspace string
	labels                               map[string]string
	// source is where its manifests are; zero if unknown.
	source      ledger.Source
	assignments []assignment // by cluster type
}

// assignment is one assignment of a target.
type assignment struct {
	clusterType string
	policies    []string
	held        *fleet.Problem
	// pending is what the open pull request does to the assignment. Added means that it is not published yet.
	pending plan.Op
}

// isPublished reports whether the GitOps branch has the assignment.
func (a *assignment) isPublished() bool { return a.pending != plan.Added }

// clusterTypeNames returns the names of the cluster types, sorted.
func (inv *inventory) clusterTypeNames() []string {
	return natural.Sort(slices.Collect(maps.Keys(inv.clusterTypes)))
}

// fullName returns the name of a target in its environment. Deployment
// descriptors have that name, or the one within the workload.
func fullName(workload, name string) string {
	if workload == "" || strings.HasPrefix(name, workload+"-") {
		return name
	}
	return fleet.TargetName(workload, name)
}

// shortName returns the name of a target within its workload; name itself if it does not start with the workload.
func shortName(workload, name string) string { return strings.TrimPrefix(name, workload+"-") }

// builder builds an inventory.
type builder struct {
	targets      map[string]*target
	clusterTypes map[string]map[string]string
}

func newBuilder() *builder {
	return &builder{targets: map[string]*target{}, clusterTypes: map[string]map[string]string{}}
}

// target returns the target called name, and adds it if needed.
func (b *builder) target(name, workload, workspace string) *target {
	t := b.targets[name]
	if t == nil {
		t = &target{name: name, shortName: shortName(workload, name), workload: workload, workspace: workspace}
		b.targets[name] = t
	}
	return t
}

// assign returns the target's assignment to a cluster type, and adds both if needed.
func (b *builder) assign(t *target, clusterType string) *assignment {
	if _, ok := b.clusterTypes[clusterType]; !ok {
		b.clusterTypes[clusterType] = nil
	}
	for i := range t.assignments {
		if t.assignments[i].clusterType == clusterType {
			return &t.assignments[i]
		}
	}
	t.assignments = append(t.assignments, assignment{clusterType: clusterType})
	return &t.assignments[len(t.assignments)-1]
}

func (b *builder) build() *inventory {
	inv := &inventory{clusterTypes: b.clusterTypes}
	for _, name := range slices.Sorted(maps.Keys(b.targets)) {
		t := b.targets[name]
		slices.SortFunc(t.assignments, func(x, y assignment) int { return natural.Compare(x.clusterType, y.clusterType) })
		inv.targets = append(inv.targets, t)
	}
	return inv
}

// targets returns the targets of the last scheduling round, including
// those not published yet; nil if there was no round.
func (s *Scheduled) targets() *inventory {
	if s == nil || s.Snapshot == nil {
		return nil
	}
	s.once.Do(func() {
		b := newBuilder()
		b.addSnapshot(s)
		if s.Outcome != nil && s.Outcome.Plan != nil {
			b.addPlan(s.Outcome.Plan)
		}
		s.inventory = b.build()
	})
	return s.inventory
}

func (b *builder) addSnapshot(s *Scheduled) {
	for _, t := range s.Snapshot.Targets {
		b.targets[t.Name] = &target{
			name: t.Name, shortName: t.ShortName, workload: t.Workload, workspace: t.Workspace, labels: t.Labels, source: sourceOf(t),
		}
	}
	for _, ct := range s.Snapshot.ClusterTypes {
		b.clusterTypes[ct.Name] = ct.Labels
		if s.Decisions == nil {
			continue
		}
		for _, a := range s.Decisions.For(ct.Name) {
			// Cluster types are sorted and unique, so the assignment cannot exist yet.
			t := b.target(a.Target.Name, a.Target.Workload, a.Target.Workspace)
			t.assignments = append(t.assignments, assignment{clusterType: ct.Name, policies: a.Policies})
		}
	}
}

// addPlan adds the assignments in a plan.
func (b *builder) addPlan(p *plan.Plan) {
	for i := range p.Assignments {
		c := &p.Assignments[i]
		if c.Cluster != "" {
			continue // what is assigned to its type
		}
		workload, _, _ := strings.Cut(c.Title, "/")
		a := b.assign(b.target(c.Target, workload, ""), c.ClusterType)
		if c.Op == plan.Held {
			a.held = c.Reason
			if a.held == nil {
				a.held = &fleet.Problem{Severity: fleet.SeverityError, Kind: fleet.KindHeld, Message: "held"}
			}
			continue
		}
		a.pending = c.Op
	}
}

// sourceOf returns where a target's manifests are.
func sourceOf(t *fleet.Target) ledger.Source {
	if t.Manifests["repo"] == "" {
		return ledger.Source{}
	}
	return ledger.Source{
		Repository: ledger.CleanRepository(t.Manifests["repo"]), Ref: t.Manifests["branch"], Path: ledger.CleanPath(t.Manifests["path"]),
	}
}

// recordedTargets returns the targets that the recorded heads of platform branches contain.
func recordedTargets(wanted ledger.Wanted) *inventory {
	b := newBuilder()
	for _, a := range wanted.Assignments {
		b.assign(b.target(a.Target, a.Workload, a.Workspace), a.ClusterType)
	}
	return b.build()
}
