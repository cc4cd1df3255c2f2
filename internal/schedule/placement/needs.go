package placement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// needs meets the dependencies between targets after all other policies have decided, for each cluster type on its own.
//
// A dependency is met if a target that it means is on the cluster type. Otherwise policies of mode onDemand place one there,
// and what that one needs in turn: all of it or nothing new. An assignment that lacks a dependency is held: it is not added
// if it is new, and stays as it is if it is published.
type needs struct {
	d        *Decisions
	s        *solver // nil if all policies only select
	standing standing

	deps     [][]*dependency // by target
	policies [][]int32       // by cluster type: the policies that select it
	demand   []*rules        // of the policies of mode onDemand
	doubtful []bool          // by cluster type: a published assignment stays there because something cannot be read
	lacks    map[lackOf][]lack
}

// dependency is a dependency with the targets that it means, ascending. If there are none, message says why.
type dependency struct {
	fleet.Dependency
	targets       []int32
	message, hint string
}

// lack is why a dependency of an assignment is not met.
type lack struct {
	clusterType   int32
	message, hint string
}

// lackOf identifies lacks that are one problem, for all cluster types together.
type lackOf struct {
	target     int32
	dependency string
}

// located is the position of a target and that of a cluster type.
type located struct{ target, clusterType int32 }

// depends reports whether a target depends on another one.
func (d *Decisions) depends() bool {
	return slices.ContainsFunc(d.targets, func(t *fleet.Target) bool { return len(t.DependsOn) > 0 })
}

// meetNeeds places what is needed, and finds the assignments that are held. s is nil if all policies only select.
func (d *Decisions) meetNeeds(o Options, s *solver) {
	n := &needs{d: d, s: s, doubtful: make([]bool, len(d.clusterTypes)), lacks: map[lackOf][]lack{}}
	if s != nil {
		n.standing = s.standing
		for _, r := range s.rules {
			if r.policy.Mode == v1alpha1.PolicyOnDemand {
				n.demand = append(n.demand, r)
			}
		}
	}
	if !d.depends() && len(n.demand) == 0 {
		return
	}
	if s == nil {
		n.standing = d.newStanding(o)
	}
	n.policies = policiesByClusterType(d.candidates, len(d.clusterTypes))
	d.resolve()
	n.deps, d.standing, d.held = d.deps, n.standing, map[located]lack{}
	assigned := make([]assigned, len(d.clusterTypes))
	for ct := range d.clusterTypes {
		assigned[ct] = n.assigned(int32(ct))
	}
	n.findDoubtful(o, assigned)
	for ct := range d.clusterTypes {
		n.meet(int32(ct), assigned[ct])
	}
	d.problems = append(d.problems, n.problems()...)
}

// resolve finds the targets that dependencies mean.
func (d *Decisions) resolve() {
	if d.deps != nil {
		return
	}
	byWorkload := map[string][]int32{}
	for i, t := range d.targets {
		byWorkload[t.Workload] = append(byWorkload[t.Workload], int32(i))
	}
	d.deps = make([][]*dependency, len(d.targets))
	known := map[fleet.Dependency]*dependency{}
	for i, t := range d.targets {
		for _, dep := range t.DependsOn {
			if known[dep] == nil {
				known[dep] = d.resolveOne(dep, byWorkload)
			}
			d.deps[i] = append(d.deps[i], known[dep])
		}
	}
}

func (d *Decisions) resolveOne(dep fleet.Dependency, byWorkload map[string][]int32) *dependency {
	r := &dependency{Dependency: dep}
	all := byWorkload[dep.Workload]
	if dep.Target != "" {
		r.targets = slices.DeleteFunc(slices.Clone(all), func(t int32) bool { return d.targets[t].ShortName != dep.Target })
	} else {
		r.targets = d.ofOneOwner(dep.Workload, all)
	}
	if len(r.targets) > 0 {
		return r
	}
	if u := d.mayDefine(dep); u != nil {
		what := "a file"
		if u.Ref != (fleet.Ref{}) {
			what = u.Ref.String()
		}
		r.message, r.hint = fmt.Sprintf("which may be in %s, which cannot be read", what), "see the errors first"
		return r
	}
	if len(all) > 0 && dep.Target == "" {
		r.message, r.hint = "which several registrations have: "+strings.Join(d.registrations(all), ", "), "name one of its targets"
		return r
	}
	r.message, r.hint = d.missing(dep, all, byWorkload)
	return r
}

// ofOneOwner returns those of the targets of a workload that a dependency without a target means. Application teams choose
// the names in their repositories, so what the platform team has registered under the name of the workload comes first.
// Otherwise another team could meet, or confuse, a dependency with a workload of the same name.
func (d *Decisions) ofOneOwner(workload string, targets []int32) []int32 {
	own := slices.DeleteFunc(slices.Clone(targets), func(t int32) bool {
		r := d.targets[t].Registration
		return r != "" && r != workload
	})
	registration := fleet.Ref{Kind: "WorkloadRegistration", Name: workload}
	switch {
	case len(own) > 0:
		return own
	case len(d.registrations(targets)) > 1, slices.ContainsFunc(d.unreadable, func(u fleet.Unreadable) bool { return u.Ref == registration }):
		return nil
	}
	return targets
}

// registrations returns the names of the registrations of targets, sorted.
func (d *Decisions) registrations(targets []int32) []string {
	var names []string
	for _, t := range targets {
		names = append(names, d.targets[t].Registration)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// missing explains that a dependency does not exist in the environment.
func (d *Decisions) missing(dep fleet.Dependency, targets []int32, byWorkload map[string][]int32) (message, hint string) {
	var environments []string
	for name, environment := range d.elsewhere {
		if workload, short, _ := strings.Cut(name, "/"); workload == dep.Workload && (dep.Target == "" || short == dep.Target) {
			environments = append(environments, environment)
		}
	}
	slices.Sort(environments)
	switch {
	case len(environments) > 0:
		return "which is in environment " + strings.Join(slices.Compact(environments), ", ") + ", and not in this one", "add a target for this environment to it"
	case len(targets) > 0:
		names := make([]string, len(targets))
		for i, t := range targets {
			names[i] = d.targets[t].ShortName
		}
		return "which does not exist: the workload has no such target in this environment" + instead("", dep.Target, "", names), ""
	}
	return "which does not exist in this environment" + instead("", dep.Workload, "workloads ", slices.Sorted(maps.Keys(byWorkload))), ""
}

// mayDefine returns an unreadable object or file that may define what a dependency means; nil if there is none.
func (d *Decisions) mayDefine(dep fleet.Dependency) *fleet.Unreadable {
	for i, u := range d.unreadable {
		switch u.Ref.Kind {
		case "", "WorkloadRegistration": // a registered repository can have workloads of any name
			return &d.unreadable[i]
		case "Workload":
			if u.Nameless || u.Ref.Name == dep.Workload {
				return &d.unreadable[i]
			}
		case "DeploymentTarget":
			if u.Nameless || u.Ref.Name == fleet.TargetName(dep.Workload, dep.Target) || dep.Target == "" && strings.HasPrefix(u.Ref.Name, dep.Workload+"-") {
				return &d.unreadable[i]
			}
		}
	}
	return nil
}

// assigned are the targets on a cluster type: a bit for each.
type assigned []uint64

func (a assigned) has(t int32) bool { return a[t/64]&(1<<(t%64)) != 0 }
func (a assigned) add(t int32)      { a[t/64] |= 1 << (t % 64) }
func (a assigned) remove(t int32)   { a[t/64] &^= 1 << (t % 64) }

// assigned returns what the policies have assigned so far.
func (n *needs) assigned(ct int32) assigned {
	on := make(assigned, (len(n.d.targets)+63)/64)
	for _, p := range n.policies[ct] {
		c := &n.d.candidates[p]
		i, _ := slices.BinarySearch(c.clusterTypes, ct)
		for _, t := range c.assigned(i) {
			on.add(t)
		}
	}
	return on
}

// findDoubtful finds the cluster types where something is published that stays because something cannot be read. What it
// needs there is unknown.
func (n *needs) findDoubtful(o Options, on []assigned) {
	if len(n.demand) == 0 || o.Published == nil || o.Stays == nil {
		return
	}
	targets := make(map[string]int32, len(n.d.targets))
	for i, t := range n.d.targets {
		targets[t.Name] = int32(i)
	}
	for pair := range o.Published {
		ct, exists := n.d.clusterType(pair.ClusterType)
		if !exists || n.doubtful[ct] {
			continue
		}
		if t, known := targets[pair.Target]; known && on[ct].has(t) {
			continue
		}
		n.doubtful[ct] = o.Stays(pair)
	}
}

// meet meets the dependencies on one cluster type.
func (n *needs) meet(ct int32, on assigned) {
	x := &place{needs: n, ct: ct, on: on, placed: map[int32][]int32{}}
	x.meetAll()
	held := x.held()
	if len(n.demand) > 0 && (n.doubtful[ct] || slices.ContainsFunc(slices.Collect(maps.Keys(held)), func(t int32) bool { return n.standing.has(t, ct) })) {
		// What is held may need, as published, what it does not ask for any more.
		if x.stay() {
			held = x.held()
		}
	}
	x.dropIdle(held)
	x.publish()
	for t, lacks := range held {
		n.d.held[located{t, ct}] = lacks[0].lack
		for _, l := range lacks {
			key := lackOf{t, l.dependency}
			n.lacks[key] = append(n.lacks[key], l.lack)
		}
	}
}

// problems returns a problem for each dependency of a target that is not met, for all cluster types together.
func (n *needs) problems() []fleet.Problem {
	var all []fleet.Problem
	for key, lacks := range n.lacks {
		slices.SortFunc(lacks, func(a, b lack) int { return cmp.Compare(a.clusterType, b.clusterType) })
		p := n.d.lackProblem(key.target, lacks[0])
		p.Assignment = ""
		if len(lacks) > 1 {
			p.Message += "; it is held on " + count(len(lacks)-1, "other cluster type", "other cluster types") + ", too"
		} else {
			p.Assignment = n.d.clusterTypes[lacks[0].clusterType].Name + "/" + n.d.targets[key.target].Name
		}
		all = append(all, p)
	}
	return all
}

// lackProblem is the problem of one assignment.
func (d *Decisions) lackProblem(target int32, l lack) fleet.Problem {
	t, ct := d.targets[target], d.clusterTypes[l.clusterType].Name
	return fleet.Problem{
		Severity: fleet.SeverityError, Kind: fleet.KindDependency, Object: fleet.Ref{Kind: "DeploymentTarget", Name: t.Name}, Position: t.Position,
		Assignment: ct + "/" + t.Name, Message: l.message, Hint: l.hint,
	}
}

// addNeeds completes the assignments of a cluster type to targets, which are ascending.
func (d *Decisions) addNeeds(clusterType int32, targets []int32, assignments []Assignment) {
	if !d.depends() {
		return
	}
	waves := map[int32]int{}
	for n, t := range targets {
		if l, held := d.held[located{t, clusterType}]; held {
			p := d.lackProblem(t, l)
			assignments[n].Held = &p
			continue
		}
		for _, other := range d.present(t, clusterType, targets) {
			assignments[n].DependsOn = append(assignments[n].DependsOn, d.targets[other])
		}
		assignments[n].Wave = d.wave(t, clusterType, targets, waves)
	}
}

// present returns the targets on a cluster type that a target depends on, ascending. targets are those assigned to it.
func (d *Decisions) present(t, clusterType int32, targets []int32) []int32 {
	var all []int32
	for _, dep := range d.deps[t] {
		for _, other := range dep.targets {
			published, isPublished := d.standing.find(other, clusterType)
			_, on := slices.BinarySearch(targets, other)
			_, held := d.held[located{other, clusterType}]
			if on && (!held || isPublished) || isPublished && published.stays {
				all = append(all, other)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// wave returns the length of the longest way along dependencies. known has those of other targets.
func (d *Decisions) wave(t, clusterType int32, targets []int32, known map[int32]int) int {
	if wave, ok := known[t]; ok {
		return wave
	}
	known[t] = 0 // ends cycles, which are held
	wave := 0
	for _, other := range d.present(t, clusterType, targets) {
		wave = max(wave, d.wave(other, clusterType, targets, known)+1)
	}
	known[t] = wave
	return wave
}

// Need is a dependency of an assignment.
type Need struct {
	// Dependency is "<workload>" or "<workload>/<target>".
	Dependency string `json:"dependency"`
	// Targets are those that meet it on the cluster type, as "<workload>/<short name>"; absent if none does.
	Targets []string `json:"targets,omitempty"`
}

// explainNeeds adds what an assignment needs, and what needs it.
func (d *Decisions) explainNeeds(e *Explanation, t, ct int32) {
	if !d.depends() {
		return
	}
	targets := d.selected.rows[ct].targets
	for _, dep := range d.deps[t] {
		need := Need{Dependency: dep.String()}
		for _, other := range d.present(t, ct, targets) {
			if slices.Contains(dep.targets, other) {
				need.Targets = append(need.Targets, d.targets[other].String())
			}
		}
		if e.Assigned {
			e.Needs = append(e.Needs, need)
		}
	}
	for _, other := range targets {
		if slices.ContainsFunc(d.deps[other], func(dep *dependency) bool { return slices.Contains(dep.targets, t) }) {
			e.NeededBy = append(e.NeededBy, d.targets[other].String())
		}
	}
	if l, held := d.held[located{t, ct}]; held {
		e.Lacks = l.message
	}
}

// NeededText names what needs a pair: "needed by shop/web".
func NeededText(by []string) string {
	const most = 3
	if len(by) > most {
		return fmt.Sprintf("needed by %s and %s", strings.Join(by[:most], ", "), count(len(by)-most, "other", "others"))
	}
	return "needed by " + strings.Join(by, ", ")
}

// explainDemand tells why a policy of mode onDemand, whose other steps let a pair through, assigns it or not.
func (s *solver) explainDemand(p *PolicyReason, e *Explanation, t, ct int32) {
	switch {
	case p.Selects && len(e.NeededBy) > 0:
		p.Reason = NeededText(e.NeededBy)
	case p.Selects:
		p.Reason = "it stays: something that is held or cannot be read may need it"
	case len(e.NeededBy) == 0:
		p.Step, p.Reason = StepDemand, "nothing on this cluster type depends on it"
	case e.Assigned:
		p.Step, p.Reason = StepDemand, "another policy assigns it"
	case !s.capacity.fits(t, ct):
		p.Step, p.Reason = StepCapacity, s.capacity.full(t, ct)
	default:
		p.Step, p.Reason = StepDemand, NeededText(e.NeededBy)+", but not placed; see the problems"
	}
}
