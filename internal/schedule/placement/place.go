package placement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// place is a cluster type on which needs are met.
type place struct {
	*needs
	ct     int32
	on     assigned
	placed map[int32][]int32 // targets that policies of mode onDemand assign, with the policies
	dead   map[int32]bool    // targets whose own needs cannot be met
}

// lackedBy is a lack with the dependency.
type lackedBy struct {
	dependency string
	lack
}

// meetAll places what is needed. It repeats that, because what one target needs may be what another one names ambiguously.
func (x *place) meetAll() {
	for progress := true; progress && len(x.demand) > 0; {
		progress, x.dead = false, map[int32]bool{}
		failed := false
		for _, t := range x.dependents() {
			var done []int32
			if !x.meetOne(t, &done) {
				failed = true
				done = x.giveBack(done)
			}
			progress = progress || len(done) > 0
		}
		progress = progress && failed
	}
}

func (x *place) name() string { return x.d.clusterTypes[x.ct].Name }

// dependents returns the assigned targets with dependencies: published ones first, so that they keep what they have.
func (x *place) dependents() []int32 {
	var published, added []int32
	for t := range x.deps {
		switch t := int32(t); {
		case len(x.deps[t]) == 0 || !x.on.has(t):
		case x.standing.has(t, x.ct):
			published = append(published, t)
		default:
			added = append(added, t)
		}
	}
	return append(published, added...)
}

// meetOne places what a target needs, and what that needs in turn. It adds what it placed to done.
func (x *place) meetOne(t int32, done *[]int32) bool {
	met := true
	for _, dep := range x.deps[t] {
		if x.isMet(dep) {
			continue
		}
		choice, _ := x.choose(dep)
		if choice == nil || x.dead[choice.target] {
			met = false
			continue
		}
		start := len(*done)
		x.put(choice)
		*done = append(*done, choice.target)
		if !x.meetOne(choice.target, done) {
			x.dead[choice.target] = true
			*done = append((*done)[:start], x.giveBack((*done)[start:])...)
			met = met && x.on.has(choice.target)
		}
	}
	return met
}

func (x *place) isMet(dep *dependency) bool { return slices.ContainsFunc(dep.targets, x.there) }

// there reports whether a target is, or stays, on the cluster type.
func (x *place) there(t int32) bool {
	if x.on.has(t) {
		return true
	}
	p, ok := x.standing.find(t, x.ct)
	return ok && p.stays
}

// demanded is a target that policies of mode onDemand can place.
type demanded struct {
	target   int32
	policies []int32
}

// choose returns what meets a dependency, or why nothing does.
func (x *place) choose(dep *dependency) (*demanded, refusal) {
	var choices []*demanded
	var why refusal
	for _, t := range dep.targets {
		c := &demanded{target: t}
		for _, r := range x.demand {
			if refused := x.lets(r, t); refused.step == "" {
				c.policies = append(c.policies, r.number)
			} else if stepOrder[refused.step] > stepOrder[why.step] {
				why = refused
			}
		}
		if len(c.policies) > 0 {
			choices = append(choices, c)
		}
	}
	if published := slices.DeleteFunc(slices.Clone(choices), func(c *demanded) bool { return !x.standing.has(c.target, x.ct) }); len(published) > 0 {
		return published[0], refusal{}
	}
	switch len(choices) {
	case 0:
		return nil, why
	case 1:
		return choices[0], refusal{}
	}
	names := make([]string, len(choices))
	for i, c := range choices {
		names[i] = x.d.targets[c.target].ShortName
	}
	return nil, refusal{StepDemand, "several of its targets can be placed there: " + strings.Join(names, ", ")}
}

// stepOrder orders the reasons of policies of mode onDemand: the one that gets furthest explains best.
var stepOrder = map[Step]int{
	StepSelectors: 1, StepExcluded: 2, StepExclusive: 3, StepFilters: 4, StepFeatures: 5, StepTaints: 6, StepCapacity: 7,
}

// lets returns why a policy of mode onDemand does not let a target on the cluster type; the step is empty if it does.
func (x *place) lets(r *rules, t int32) refusal {
	i, selects := slices.BinarySearch(r.c.clusterTypes, x.ct)
	_, both := slices.BinarySearch(r.c.targets, t)
	if !selects || !both {
		return refusal{StepSelectors, "no policy of mode onDemand selects both"}
	}
	var why refusal
	if !r.judge(t, i, &why) {
		return refusal{why.step, fmt.Sprintf("policy %s, step %s: %s", r.policy.Name, why.step, why.text)}
	}
	if !x.s.capacity.fits(t, x.ct) {
		return refusal{StepCapacity, fmt.Sprintf("policy %s, step %s: %s", r.policy.Name, StepCapacity, x.s.capacity.full(t, x.ct))}
	}
	return refusal{}
}

func (x *place) put(c *demanded) {
	x.on.add(c.target)
	x.placed[c.target] = c.policies
	x.s.capacity.take(c.target, x.ct)
}

// giveBack removes what was placed in vain, except what is published. It returns what stays.
func (x *place) giveBack(placed []int32) []int32 {
	var stay []int32
	for _, t := range placed {
		if x.standing.has(t, x.ct) {
			stay = append(stay, t)
			continue
		}
		x.on.remove(t)
		delete(x.placed, t)
		if x.s.capacity.limits([]int32{x.ct}) {
			x.s.capacity.release(t, x.ct)
		}
	}
	return stay
}

// dropIdle removes what was placed for targets that turned out to be held, for example because they depend on themselves. What is published stays.
func (x *place) dropIdle(held map[int32][]lackedBy) {
	for len(held) > 0 {
		needed := map[int32]bool{}
		for _, t := range x.dependents() {
			if held[t] != nil {
				continue
			}
			for _, dep := range x.deps[t] {
				for _, other := range dep.targets {
					needed[other] = true
				}
			}
		}
		before := len(x.placed)
		x.giveBack(slices.DeleteFunc(slices.Sorted(maps.Keys(x.placed)), func(t int32) bool { return held[t] != nil || needed[t] }))
		if len(x.placed) == before {
			return
		}
	}
}

// stay keeps published targets that nothing asks for, but that something may need that is held or cannot be read. It reports
// whether there are any.
func (x *place) stay() bool {
	kept := false
	for _, r := range x.demand {
		for _, t := range r.c.targets {
			p, published := x.standing.find(t, x.ct)
			if !published || x.on.has(t) && x.placed[t] == nil || !slices.Contains(p.policies, r.number) || slices.Contains(x.placed[t], r.number) {
				continue
			}
			if x.lets(r, t).step != "" {
				continue
			}
			kept = true
			x.put(&demanded{t, append(slices.Clone(x.placed[t]), r.number)})
		}
	}
	return kept
}

// keepDemanded reserves the published places of what other published targets need, so that nothing new takes them.
func (s *solver) keepDemanded() {
	if len(s.capacity.resources) == 0 || !s.d.depends() {
		return
	}
	s.d.resolve()
	for t, deps := range s.d.deps {
		for _, p := range s.standing.pairs[t] {
			for _, dep := range deps {
				for _, needed := range dep.targets {
					s.reserveDemanded(needed, p.clusterType)
				}
			}
		}
	}
}

func (s *solver) reserveDemanded(target, clusterType int32) {
	p, published := s.standing.find(target, clusterType)
	if !published {
		return
	}
	for _, number := range p.policies {
		r := s.rules[number]
		i, selects := slices.BinarySearch(r.c.clusterTypes, clusterType)
		_, both := slices.BinarySearch(r.c.targets, target)
		if r.policy.Mode != v1alpha1.PolicyOnDemand || !selects || !both || !r.judge(target, i, nil) || !s.capacity.fits(target, clusterType) {
			continue
		}
		taken := s.capacity.take(target, clusterType)
		if !slices.Contains(taken.policies, number) {
			taken.priority = max(taken.priority, r.policy.Priority)
			taken.policies = append(taken.policies, number)
		}
	}
}

// publish adds what was placed to the policies.
func (x *place) publish() {
	for _, t := range slices.Sorted(maps.Keys(x.placed)) {
		for _, p := range x.placed[t] {
			c := &x.d.candidates[p]
			i, _ := slices.BinarySearch(c.clusterTypes, x.ct)
			c.on[i] = append(c.on[i], t)
		}
	}
}

// held returns the assignments that lack something, with at least one reason each.
func (x *place) held() map[int32][]lackedBy {
	held := map[int32][]lackedBy{}
	dependents := x.dependents()
	slices.Sort(dependents)
	for _, t := range dependents {
		for _, dep := range x.deps[t] {
			if text, hint := x.lacks(dep); text != "" {
				held[t] = append(held[t], lackedBy{dep.String(), lack{x.ct, "it needs " + text, hint}})
			}
		}
		if causes := slices.DeleteFunc(slices.Clone(held[t]), func(l lackedBy) bool { return strings.HasSuffix(l.message, notAll) }); len(causes) > 0 {
			held[t] = causes
		}
	}
	for _, cycle := range x.cycles(dependents) {
		for i, t := range cycle {
			message := "it depends on itself on " + x.name() + ": " + x.cycleText(x.shortest(cycle, i))
			held[t] = append(held[t], lackedBy{"", lack{x.ct, message, "remove one of these dependencies"}})
		}
	}
	x.spread(dependents, held, slices.Sorted(maps.Keys(held)))
	return held
}

// spread holds what needs something that is held and not published.
func (x *place) spread(dependents []int32, held map[int32][]lackedBy, queue []int32) {
	needing := map[int32][]int32{}
	for _, t := range dependents {
		for _, dep := range x.deps[t] {
			for _, other := range dep.targets {
				needing[other] = append(needing[other], t)
			}
		}
	}
	present := func(t int32) bool { return x.there(t) && (held[t] == nil || x.standing.has(t, x.ct)) }
	for len(queue) > 0 {
		waiting := map[int32]bool{}
		for _, t := range queue {
			for _, other := range needing[t] {
				waiting[other] = held[other] == nil
			}
		}
		queue = nil
		for _, t := range slices.Sorted(maps.Keys(waiting)) {
			i := slices.IndexFunc(x.deps[t], func(dep *dependency) bool { return !slices.ContainsFunc(dep.targets, present) })
			if i < 0 || !waiting[t] {
				continue
			}
			dep := x.deps[t][i]
			held[t] = []lackedBy{{dep.String(), lack{
				x.ct, fmt.Sprintf("it needs %s, which is held on %s", dep, x.name()), "see the problem of " + x.d.targets[dep.targets[0]].String(),
			}}}
			queue = append(queue, t)
		}
	}
}

// lacks explains why a dependency is not met; text is empty if it is. It begins with the dependency.
func (x *place) lacks(dep *dependency) (text, hint string) { return x.lacksVia(dep, maxVia) }

// maxVia is the maximum number of steps from a dependency to the one that cannot be placed, in messages.
const maxVia = 5

func (x *place) lacksVia(dep *dependency, via int) (text, hint string) {
	switch {
	case len(dep.targets) == 0:
		return dep.String() + ", " + dep.message, dep.hint
	case x.isMet(dep):
		return "", ""
	}
	text = dep.String() + " on " + x.name() + ", where it is not scheduled"
	add := "schedule it there, or add a policy of mode onDemand for it"
	if len(x.demand) == 0 {
		return text, add
	}
	choice, why := x.choose(dep)
	if choice == nil {
		switch why.step {
		case StepDemand:
			return text + ": " + why.text, "name one of them as the target of the dependency"
		case StepSelectors:
			return text + ": " + why.text, add
		}
		return text + ": " + why.text, ""
	}
	for _, needed := range x.deps[choice.target] {
		if via == 0 {
			break
		}
		if cause, hint := x.lacksVia(needed, via-1); cause != "" {
			return dep.String() + ", which needs " + cause, hint
		}
	}
	return text + ": " + notAll, "see the other problems"
}

// notAll is the reason of a dependency that could be placed, if others could.
const notAll = "not everything that is needed with it can be placed"

// cycle is a set of targets that all depend on each other, ascending.
type cycle []int32

// next returns the targets that a target depends on and that are on the cluster type.
func (x *place) next(t int32) []int32 {
	var all []int32
	for _, dep := range x.deps[t] {
		for _, other := range dep.targets {
			if x.on.has(other) {
				all = append(all, other)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// cycles finds the strongly connected targets, with the algorithm of Tarjan (https://doi.org/10.1137/0201010).
func (x *place) cycles(dependents []int32) []cycle {
	var found []cycle
	var stack []int32
	index, low, onStack := map[int32]int{}, map[int32]int{}, map[int32]bool{}
	var visit func(t int32)
	visit = func(t int32) {
		index[t] = len(index) + 1
		low[t] = index[t]
		stack, onStack[t] = append(stack, t), true
		next := x.next(t)
		for _, other := range next {
			switch {
			case len(x.deps[other]) == 0:
			case index[other] == 0:
				visit(other)
				low[t] = min(low[t], low[other])
			case onStack[other]:
				low[t] = min(low[t], index[other])
			}
		}
		if low[t] != index[t] {
			return
		}
		at := slices.Index(stack, t)
		members := slices.Sorted(slices.Values(stack[at:]))
		for _, m := range members {
			onStack[m] = false
		}
		stack = stack[:at]
		if len(members) > 1 || slices.Contains(next, t) {
			found = append(found, members)
		}
	}
	for _, t := range dependents {
		if index[t] == 0 {
			visit(t)
		}
	}
	slices.SortFunc(found, func(a, b cycle) int { return cmp.Compare(a[0], b[0]) })
	return found
}

// shortest returns the shortest way from a member of a cycle back to it, by breadth-first search, beginning with the first
// target on it. In a large cycle it is the way of the first member for all.
func (x *place) shortest(c cycle, member int) []int32 {
	const large = 50
	if len(c) > large {
		member = 0
	}
	start := c[member]
	from, inside := map[int32]int32{}, map[int32]bool{}
	for _, m := range c {
		inside[m] = true
	}
	way := []int32{start}
search:
	for queue := []int32{start}; len(queue) > 0; queue = queue[1:] {
		for _, other := range x.next(queue[0]) {
			if other == start {
				for t := queue[0]; t != start; t = from[t] {
					way = append(way, t)
				}
				break search
			}
			if _, seen := from[other]; !seen && inside[other] {
				from[other] = queue[0]
				queue = append(queue, other)
			}
		}
	}
	slices.Reverse(way[1:])
	first := slices.Index(way, slices.Min(way))
	return append(way[first:len(way):len(way)], way[:first]...)
}

func (x *place) cycleText(way []int32) string {
	var names []string
	for _, t := range append(slices.Clone(way), way[0]) {
		names = append(names, x.d.targets[t].String())
	}
	const most = 10
	if len(names) > most {
		names = append(append(names[:most-2:most-2], "…"), names[len(names)-1])
	}
	return strings.Join(names, " → ")
}
