package query

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// inventory is what an environment should have. It is immutable.
type inventory struct {
	targets []*target // by name
	// clusterTypes are the labels of each.
	clusterTypes map[string]map[string]string
}

// target is a deployment target and what it is assigned to.
type target struct {
	name, shortName, workload, workspace string
	labels                               map[string]string
	// source is where its manifests are; zero when that is not known.
	source      ledger.Source
	assignments []assignment // by cluster type
}

// assignment is one of a target.
type assignment struct {
	clusterType string
	policies    []string
	held        *fleet.Problem
	// pending is what the open change does to it. One that is only added is not published yet.
	pending plan.Op
}

// isPublished reports whether the GitOps branch has it.
func (a *assignment) isPublished() bool { return a.pending != plan.Added }

// clusterTypeNames are the cluster types, sorted.
func (inv *inventory) clusterTypeNames() []string {
	return slices.Sorted(maps.Keys(inv.clusterTypes))
}

// fullName is the name of a target in its environment. Deployment descriptors have that, or the name within the workload.
func fullName(workload, name string) string {
	if workload == "" || strings.HasPrefix(name, workload+"-") {
		return name
	}
	return fleet.TargetName(workload, name)
}

// shortName is the name of a target within its workload, as far as its full name shows it.
func shortName(workload, name string) string { return strings.TrimPrefix(name, workload+"-") }

// builder puts an inventory together.
type builder struct {
	targets      map[string]*target
	clusterTypes map[string]map[string]string
}

func newBuilder() *builder {
	return &builder{targets: map[string]*target{}, clusterTypes: map[string]map[string]string{}}
}

// target returns the target of a name, which it adds if it is not there.
func (b *builder) target(name, workload, workspace string) *target {
	t := b.targets[name]
	if t == nil {
		t = &target{name: name, shortName: shortName(workload, name), workload: workload, workspace: workspace}
		b.targets[name] = t
	}
	return t
}

// assign adds an assignment and the cluster type, unless they are there.
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
		slices.SortFunc(t.assignments, func(x, y assignment) int { return cmp.Compare(x.clusterType, y.clusterType) })
		inv.targets = append(inv.targets, t)
	}
	return inv
}

// targets are those of the last round of scheduling, with what is still to be published; nil when there was none.
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
			// Cluster types come sorted and each once, so that there is nothing to look for.
			t := b.target(a.Target.Name, a.Target.Workload, a.Target.Workspace)
			t.assignments = append(t.assignments, assignment{clusterType: ct.Name, policies: a.Policies})
		}
	}
}

// addPlan adds what the plan says about assignments.
func (b *builder) addPlan(p *plan.Plan) {
	for i := range p.Assignments {
		c := &p.Assignments[i]
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

// sourceOf is where the manifests of a target are.
func sourceOf(t *fleet.Target) ledger.Source {
	if t.Manifests["repo"] == "" {
		return ledger.Source{}
	}
	return ledger.Source{
		Repository: ledger.CleanRepository(t.Manifests["repo"]), Ref: t.Manifests["branch"], Path: ledger.CleanPath(t.Manifests["path"]),
	}
}

// recordedTargets are those that the heads of platform branches want.
func recordedTargets(wanted ledger.Wanted) *inventory {
	b := newBuilder()
	for _, a := range wanted.Assignments {
		b.assign(b.target(a.Target, a.Workload, a.Workspace), a.ClusterType)
	}
	return b.build()
}
