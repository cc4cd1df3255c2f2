package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// picking is the choice of a policy for one target in progress.
type picking struct {
	r          *rules
	target     int32
	candidates []candidate
	picked     []int32
	// unsure means that a preference cannot be evaluated for one of the cluster types: what is published stays.
	unsure bool
	// counts are the picked cluster types of each value, for each of the policy's spreads.
	counts []map[string]int
}

// candidate is an eligible cluster type.
type candidate struct {
	i         int32 // index in candidates.clusterTypes
	published bool
	soft      bool // others are chosen first
	score     int
	tie       uint64
}

// pick prepares the choice for a target.
func (s *solver) pick(r *rules, k int) *picking {
	p := &picking{r: r, target: r.c.targets[k], candidates: make([]candidate, 0, len(s.choices[r.number][k].eligible))}
	for _, i := range s.choices[r.number][k].eligible {
		ct := r.c.clusterTypes[i]
		published := s.standing.prefers(r.number, p.target, ct)
		score, known := r.score(p.target, int(i))
		if !known {
			p.unsure = true
			if !published {
				continue
			}
		}
		p.candidates = append(p.candidates, candidate{
			i: i, published: published, soft: r.soft[i] && !published, score: score, tie: s.tie(p.target, ct),
		})
	}
	p.counts = make([]map[string]int, len(r.policy.Spread))
	for n, spread := range r.policy.Spread {
		p.counts[n] = map[string]int{}
		for _, c := range p.candidates {
			if value, ok := p.value(spread, c.i); ok {
				p.counts[n][value] = 0
			}
		}
	}
	return p
}

func (p *picking) value(spread fleet.Spread, i int32) (string, bool) {
	value, ok := p.r.s.d.clusterTypes[p.r.c.clusterTypes[i]].Labels[spread.Key]
	return value, ok
}

// add picks a cluster type.
func (p *picking) add(i int32) {
	p.picked = append(p.picked, i)
	for n, spread := range p.r.policy.Spread {
		if value, ok := p.value(spread, i); ok {
			p.counts[n][value]++
		}
	}
}

// skew reports whether a cluster type keeps all spreads that must be kept, and how crowded its values are by the others. If
// not, it explains that.
func (p *picking) skew(i int32) (crowded int, why string) {
	for n, spread := range p.r.policy.Spread {
		value, ok := p.value(spread, i)
		if !ok {
			if spread.Soft {
				crowded += len(p.candidates)
				continue
			}
			return 0, "it has no label " + spread.Key
		}
		fewest := len(p.candidates)
		for _, count := range p.counts[n] {
			fewest = min(fewest, count)
		}
		count := p.counts[n][value]
		switch {
		case spread.Soft:
			crowded += count - fewest
		case count+1-fewest > spread.MaxSkew:
			return 0, fmt.Sprintf("%s=%s has %d, another %s has %d, and the maximum skew is %d", spread.Key, value, count, spread.Key, fewest, spread.MaxSkew)
		}
	}
	return crowded, ""
}

// before orders candidates. Published ones come first, unless the policy says how many points more are a reason to move;
// then those without taints to avoid, those of values with the fewest, those with the highest score; ties are broken by hash.
func (p *picking) before(a, b candidate, crowdedA, crowdedB int) bool {
	threshold := p.r.policy.MoveThreshold
	sticky := func(c candidate) bool { return c.published && (threshold == 0 || p.unsure) }
	points := func(c candidate) int {
		if c.published {
			return c.score + threshold - 1 // with which it is before those with as many points
		}
		return c.score
	}
	return cmp.Or(
		compareBool(sticky(a), sticky(b)), compareBool(!a.soft, !b.soft), cmp.Compare(crowdedA, crowdedB),
		cmp.Compare(points(b), points(a)), compareBool(a.published, b.published), cmp.Compare(a.tie, b.tie), cmp.Compare(a.i, b.i),
	) < 0
}

// compareBool orders true before false.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// next returns the best candidate that is not picked and that the rules allow. blocked is called for others, if not nil.
func (p *picking) next(fits func(i int32) bool, blocked func(c candidate, step Step, why string)) (candidate, bool) {
	var best candidate
	var bestCrowded int
	found := false
	for _, c := range p.candidates {
		if slices.Contains(p.picked, c.i) {
			continue
		}
		crowded, why := p.skew(c.i)
		if why != "" {
			if blocked != nil {
				blocked(c, StepSpread, why)
			}
			continue
		}
		if !fits(c.i) {
			p.r.s.lacking = true
			if blocked != nil {
				blocked(c, StepCapacity, p.r.s.capacity.full(p.target, p.r.c.clusterTypes[c.i]))
			}
			continue
		}
		if !found || p.before(c, best, crowded, bestCrowded) {
			best, bestCrowded, found = c, crowded, true
		}
	}
	return best, found
}

// wanted returns the number of cluster types for a target: the policy's maximum, less those that it keeps because something
// cannot be read.
func (p *picking) wanted() int {
	if p.r.policy.Max == 0 || p.r.policy.External() {
		return len(p.candidates)
	}
	return max(p.r.policy.Max-p.r.s.standing.staying(p.r.number, p.target, func(ct int32) bool {
		return slices.ContainsFunc(p.candidates, func(c candidate) bool { return p.r.c.clusterTypes[c.i] == ct })
	}), 0)
}

func (p *picking) fits(i int32) bool {
	return p.r.s.capacity.fits(p.target, p.r.c.clusterTypes[i])
}

// keep reserves the places of a target that are published for the policy and that it still allows. Whatever the policy prefers now, they are given
// up only when another place is found; otherwise a new assignment could take them, and the target would have none.
func (s *solver) keep(r *rules, k int) {
	target := r.c.targets[k]
	own := func(i int32) bool { return s.standing.own(r.number, target, r.c.clusterTypes[i]) }
	if !slices.ContainsFunc(s.choices[r.number][k].eligible, own) {
		return
	}
	p := s.pick(r, k)
	kept := slices.DeleteFunc(slices.Clone(p.candidates), func(c candidate) bool { return !own(c.i) })
	slices.SortFunc(kept, func(a, b candidate) int {
		switch {
		case p.before(a, b, 0, 0):
			return -1
		case p.before(b, a, 0, 0):
			return 1
		}
		return 0
	})
	wanted := p.wanted()
	for _, c := range kept {
		if wanted > 0 && p.fits(c.i) {
			s.reserve(r, k, c.i)
			wanted--
		}
	}
}

func (s *solver) reserve(r *rules, k int, i int32) {
	s.choices[r.number][k].chosen = append(s.choices[r.number][k].chosen, i)
	t := s.capacity.take(r.c.targets[k], r.c.clusterTypes[i])
	if len(t.policies) == 0 || r.policy.Priority > t.priority {
		t.priority = r.policy.Priority
	}
	t.policies = append(t.policies, r.number)
	s.moved = true
}

// fill chooses the places of a target, which holds those that it has until another one replaces them.
func (s *solver) fill(r *rules, k int) {
	if r.policy.Max == 0 || r.policy.External() {
		s.fillAll(r, k)
		return
	}
	holds := slices.Clone(s.choices[r.number][k].chosen)
	if len(holds) == len(s.choices[r.number][k].eligible) && s.tracing == nil {
		return
	}
	p := s.pick(r, k)
	note := s.tracing.begin(p)
	for len(p.picked) < p.wanted() {
		c, found := p.next(p.fits, note.blocked())
		if !found {
			if c, found = s.preempt(p); !found {
				break
			}
		}
		note.choose(c)
		p.add(c.i)
		if !slices.Contains(holds, c.i) {
			s.reserve(r, k, c.i)
		}
	}
	for _, i := range holds {
		switch {
		case slices.Contains(p.picked, i):
		case p.missing() > 0: // nothing replaces it
			p.add(i)
		default:
			s.giveUp(r, k, i)
		}
	}
	if p.missing() > 0 {
		s.recordShortage(p)
	}
	note.end()
}

// fillAll chooses every place that is free, for policies that do not choose among them.
func (s *solver) fillAll(r *rules, k int) {
	chosen := make([]bool, len(r.c.clusterTypes))
	for _, i := range s.choices[r.number][k].chosen {
		chosen[i] = true
	}
	p := &picking{r: r, target: r.c.targets[k]}
	lacks := false
	reasons := map[int32]choiceReason{}
	for _, i := range s.choices[r.number][k].eligible {
		if chosen[i] {
			continue
		}
		p.candidates = []candidate{{i: i}}
		if !p.fits(i) {
			if _, made := s.preempt(p); !made {
				reasons[i] = choiceReason{step: StepCapacity, text: s.capacity.full(p.target, r.c.clusterTypes[i])}
				lacks, s.lacking = true, true
				continue
			}
		}
		s.reserve(r, k, i)
	}
	if lacks {
		s.countShortage(p, StepCapacity)
	}
	s.tracing.record(p, reasons)
}

// giveUp takes a place away from a policy. It is free if no other policy has it.
func (s *solver) giveUp(r *rules, k int, i int32) {
	choice := &s.choices[r.number][k]
	choice.chosen = slices.DeleteFunc(choice.chosen, func(n int32) bool { return n == i })
	target, ct := r.c.targets[k], r.c.clusterTypes[i]
	s.moved = true
	if len(s.capacity.resources) == 0 || s.capacity.limit[ct] == nil {
		return
	}
	t := s.capacity.taken[ct][target]
	t.policies = slices.DeleteFunc(t.policies, func(p int32) bool { return p == r.number })
	if len(t.policies) == 0 {
		s.capacity.release(target, ct)
		return
	}
	t.priority = s.rules[t.policies[0]].policy.Priority
	for _, p := range t.policies {
		t.priority = max(t.priority, s.rules[p].policy.Priority)
	}
}

// missing returns how many places the target lacks.
func (p *picking) missing() int { return p.wanted() - len(p.picked) }

// recordShortage counts a target without enough places, unless no cluster type but the ones that it has is eligible.
func (s *solver) recordShortage(p *picking) {
	var step Step
	p.next(p.fits, func(_ candidate, blocked Step, _ string) {
		if step == "" || blocked == StepCapacity {
			step = blocked
		}
	})
	if step == "" {
		return
	}
	s.lacking = s.lacking || step == StepCapacity
	s.countShortage(p, step)
}

func (s *solver) countShortage(p *picking, step Step) {
	if s.short[p.r.number] == nil {
		s.short[p.r.number] = &shortage{example: s.d.targets[p.target].String(), step: step}
	}
	short := s.short[p.r.number]
	short.targets++
	if name := s.d.targets[p.target].String(); name < short.example {
		short.example, short.step = name, step
	}
}

// preempt makes room for a target where the policy is allowed to: on the cluster type on which the assignments that have to
// go have the lowest priority, and are the fewest.
func (s *solver) preempt(p *picking) (candidate, bool) {
	if !p.r.policy.Preempts {
		return candidate{}, false
	}
	var best candidate
	var bestVictims []int32
	found := false
	for _, c := range p.candidates {
		if _, why := p.skew(c.i); slices.Contains(p.picked, c.i) || why != "" {
			continue
		}
		victims, enough := s.victims(p.target, p.r.c.clusterTypes[c.i], p.r.policy.Priority)
		if !enough {
			continue
		}
		if !found || s.cheaper(p, c, best, victims, bestVictims) {
			best, bestVictims, found = c, victims, true
		}
	}
	if found {
		for _, target := range bestVictims {
			s.evict(target, p.r.c.clusterTypes[best.i], p)
		}
	}
	return best, found
}

// cheaper reports whether making room on a's cluster type costs less than on b's.
func (s *solver) cheaper(p *picking, a, b candidate, victimsA, victimsB []int32) bool {
	highest := func(c candidate, victims []int32) int {
		priority := s.capacity.taken[p.r.c.clusterTypes[c.i]][victims[0]].priority
		for _, v := range victims {
			priority = max(priority, s.capacity.taken[p.r.c.clusterTypes[c.i]][v].priority)
		}
		return priority
	}
	if order := cmp.Or(cmp.Compare(highest(a, victimsA), highest(b, victimsB)), cmp.Compare(len(victimsA), len(victimsB))); order != 0 {
		return order < 0
	}
	crowdedA, _ := p.skew(a.i)
	crowdedB, _ := p.skew(b.i)
	return p.before(a, b, crowdedA, crowdedB)
}

// victims returns the assignments with a lower priority that have to go for a target to fit, the lowest priority first.
func (s *solver) victims(target, clusterType int32, priority int) (victims []int32, enough bool) {
	c := &s.capacity
	var lower []int32
	for t, taker := range c.taken[clusterType] {
		if len(taker.policies) > 0 && !taker.stays && taker.priority < priority {
			lower = append(lower, t)
		}
	}
	slices.SortFunc(lower, func(a, b int32) int {
		return cmp.Or(
			cmp.Compare(c.taken[clusterType][a].priority, c.taken[clusterType][b].priority),
			cmp.Compare(s.tie(a, clusterType), s.tie(b, clusterType)), cmp.Compare(a, b),
		)
	})
	free := make([]int64, len(c.resources))
	for n, limit := range c.limit[clusterType] {
		free[n] = limit - c.used[clusterType][n]
	}
	short := func() bool {
		for n, limit := range c.limit[clusterType] {
			if limit != unlimited && c.needs[target][n] > 0 && c.needs[target][n] > free[n] {
				return true
			}
		}
		return false
	}
	for _, t := range lower {
		if !short() {
			break
		}
		helps := false
		for n, limit := range c.limit[clusterType] {
			helps = helps || limit != unlimited && c.needs[target][n] > free[n] && c.needs[t][n] > 0
		}
		if !helps {
			continue
		}
		victims = append(victims, t)
		for n := range free {
			free[n] += c.needs[t][n]
		}
	}
	return victims, len(victims) > 0 && !short()
}

// evict removes an assignment from a cluster type, for all policies that chose it. They look for another place later,
// because their priority is lower.
func (s *solver) evict(target, clusterType int32, by *picking) {
	for _, policy := range s.capacity.taken[clusterType][target].policies {
		r := s.rules[policy]
		k, _ := slices.BinarySearch(r.c.targets, target)
		choice := &s.choices[policy][k]
		choice.chosen = slices.DeleteFunc(choice.chosen, func(i int32) bool { return r.c.clusterTypes[i] == clusterType })
		s.tracing.evicted(policy, target, clusterType, fmt.Sprintf("policy %s with priority %d needs the place for %s",
			by.r.policy.Name, by.r.policy.Priority, s.d.targets[by.target]))
	}
	s.capacity.release(target, clusterType)
	s.moved = true
}

// sentence joins the parts that are not empty.
func sentence(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ", ")
}
