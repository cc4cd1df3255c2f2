package placement

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// solver assigns the pairs of the policies that do more than select. It has the state of one decision of the whole environment.
//
// The order of its steps makes decisions stable. What is published is kept first, the highest priority first, as far as
// the rules allow; then what is missing is filled in the same order. So a target never loses its place to one that is new.
type solver struct {
	d       *Decisions
	options Options

	standing  standing
	exclusive [][]int32  // by target: the exclusive policies that decide alone; nil if there are none
	excluded  [][]uint64 // by cluster type: a bit for each target; nil if there are none
	rules     []*rules   // by policy; nil for a simple one

	targetFacts, clusterTypeFacts []*fleet.Facts // nil unless an expression needs them
	targetHash, clusterTypeHash   []uint64

	capacity capacity
	choices  [][]choice // by policy and index in candidates.targets

	tracing *trace
	mu      sync.Mutex // for failures
	errors  map[string]*failure
	short   map[int32]*shortage
	// moved means that a place was taken or given up, lacking that a place was not free: another round of filling may find one.
	moved, lacking bool
}

// maxRounds bounds how often places are filled again, with what others gave up or took.
const maxRounds = 8

// choice is what a policy chooses for one of its targets. Numbers are indexes in candidates.clusterTypes.
type choice struct {
	eligible []int32 // ascending
	chosen   []int32 // in the order of the choice
}

// failure counts the evaluations of an expression that failed.
type failure struct {
	policy            *fleet.Policy
	expression, where string
	err               error
	count             int
}

// shortage counts the targets of a policy that are on fewer cluster types than wanted.
type shortage struct {
	targets int
	example string
	step    Step
}

// isPlain reports whether all policies only select, and nothing else influences decisions.
func (d *Decisions) isPlain() bool {
	return !slices.ContainsFunc(d.candidates, func(c candidates) bool { return !selectsOnly(c.policy) }) &&
		!slices.ContainsFunc(d.clusterTypes, func(ct *fleet.ClusterType) bool { return len(ct.Taints)+len(ct.Capacity) > 0 }) &&
		!slices.ContainsFunc(d.targets, func(t *fleet.Target) bool { return len(t.RequiredFeatures) > 0 })
}

// selectsOnly reports whether a policy has nothing but selectors.
func selectsOnly(p *fleet.Policy) bool {
	return (p.Mode == "" || p.Mode == v1alpha1.PolicyInclude) && !p.External() && p.Max == 0 &&
		len(p.Filters)+len(p.RequiredFeatures)+len(p.Extenders) == 0
}

// solve assigns the pairs of all policies. It sets candidates.on.
func (d *Decisions) solve(o Options, t *trace) *solver {
	s := d.newSolver(o)
	s.tracing = t
	for i := range d.candidates {
		s.findEligible(i)
	}
	levels := s.levels()
	for _, level := range levels {
		s.eachTarget(level, s.keep)
	}
	s.keepDemanded()
	for range maxRounds {
		s.moved, s.lacking, s.short = false, false, map[int32]*shortage{}
		for _, level := range levels {
			s.eachTarget(level, s.fill)
		}
		if !s.moved || !s.lacking {
			break
		}
	}
	for i := range d.candidates {
		s.publish(i)
	}
	return s
}

// newSolver prepares everything that the steps before the choice need.
func (d *Decisions) newSolver(o Options) *solver {
	s := &solver{
		d: d, options: o, standing: d.newStanding(o), exclusive: make([][]int32, len(d.targets)),
		rules: make([]*rules, len(d.candidates)), choices: make([][]choice, len(d.candidates)),
		errors: map[string]*failure{}, short: map[int32]*shortage{},
	}
	s.targetHash, s.clusterTypeHash = make([]uint64, len(d.targets)), make([]uint64, len(d.clusterTypes))
	for i, t := range d.targets {
		s.targetHash[i] = hashName(t.Name)
	}
	for i, ct := range d.clusterTypes {
		s.clusterTypeHash[i] = hashName(ct.Name)
	}
	s.prepareFacts()
	s.capacity = newCapacity(d, &s.standing)
	s.findExclusive()
	for i := range d.candidates {
		s.rules[i] = newRules(s, i)
	}
	s.findExcluded()
	return s
}

// prepareFacts prepares the variables of expressions, if there are any.
func (s *solver) prepareFacts() {
	s.targetFacts, s.clusterTypeFacts = make([]*fleet.Facts, len(s.d.targets)), make([]*fleet.Facts, len(s.d.clusterTypes))
	needed := slices.ContainsFunc(s.d.candidates, func(c candidates) bool {
		return len(c.policy.Filters) > 0 || slices.ContainsFunc(c.policy.Preferences, func(p fleet.Preference) bool { return p.Expression != nil })
	})
	if !needed {
		return
	}
	for i, t := range s.d.targets {
		s.targetFacts[i] = t.Facts()
	}
	for i, ct := range s.d.clusterTypes {
		s.clusterTypeFacts[i] = ct.Facts()
	}
}

// findExclusive finds, for each target, the exclusive policies with the highest priority that select it.
func (s *solver) findExclusive() {
	for i, c := range s.d.candidates {
		if c.policy.Mode != v1alpha1.PolicyExclusive {
			continue
		}
		for _, target := range c.targets {
			known := s.exclusive[target]
			switch {
			case len(known) == 0 || s.d.candidates[known[0]].policy.Priority < c.policy.Priority:
				s.exclusive[target] = []int32{int32(i)}
			case s.d.candidates[known[0]].policy.Priority == c.policy.Priority:
				s.exclusive[target] = append(known, int32(i))
			}
		}
	}
}

// findExcluded marks the pairs of policies of mode exclude. Where a filter cannot be evaluated, the pair is excluded unless
// it is published.
func (s *solver) findExcluded() {
	for _, r := range s.rules {
		if r.policy.Mode != v1alpha1.PolicyExclude {
			continue
		}
		if s.excluded == nil {
			s.excluded = make([][]uint64, len(s.d.clusterTypes))
		}
		for i, ct := range r.c.clusterTypes {
			if s.excluded[ct] == nil {
				s.excluded[ct] = make([]uint64, (len(s.d.targets)+63)/64)
			}
			for _, target := range r.c.targets {
				if r.excludes(target, i) {
					s.excluded[ct][target/64] |= 1 << (target % 64)
				}
			}
		}
	}
}

// excludes reports whether a policy of mode exclude excludes a pair.
func (r *rules) excludes(target int32, i int) bool {
	published := r.s.standing.has(target, r.c.clusterTypes[i])
	if r.refused[i].step != "" {
		return r.keeps[i] && !published
	}
	for _, f := range r.pairFilters {
		holds, _, err := f.Expression.Holds(r.s.d.environment, r.s.targetFacts[target], r.s.clusterTypeFacts[r.c.clusterTypes[i]])
		if err != nil {
			r.s.failed(r, f.Expression, err, r.s.pairText(target, r.c.clusterTypes[i]))
			holds = !published
		}
		if !holds {
			return false
		}
	}
	return true
}

// excludedBy reports whether a pair is excluded, and by which policy if that is asked for.
func (s *solver) excludedBy(target, clusterType int32, name bool) (policy string, excluded bool) {
	if s.excluded == nil || s.excluded[clusterType] == nil || s.excluded[clusterType][target/64]&(1<<(target%64)) == 0 {
		return "", false
	}
	if !name {
		return "", true
	}
	for _, r := range s.rules {
		if r.policy.Mode != v1alpha1.PolicyExclude {
			continue
		}
		i, selects := slices.BinarySearch(r.c.clusterTypes, clusterType)
		if _, both := slices.BinarySearch(r.c.targets, target); both && selects && r.excludes(target, i) {
			return r.policy.Name, true
		}
	}
	return "", true
}

// findEligible finds the pairs of a policy that all steps before the choice let through, on all cores.
func (s *solver) findEligible(policy int) {
	r := s.rules[policy]
	choices := make([]choice, len(r.c.targets))
	s.choices[policy] = choices
	if r.policy.Mode == v1alpha1.PolicyExclude || r.policy.Mode == v1alpha1.PolicyOnDemand {
		return
	}
	candidates := s.candidatePairs(r)
	if err := r.brokenAnswer(); err != nil && slices.ContainsFunc(candidates, func(c []int32) bool { return len(c) > 0 }) {
		s.holdPolicy(r, err)
		return
	}
	s.noteUnmet(r, candidates)
	for k, eligible := range candidates {
		choices[k].eligible = s.chosenByScheduler(r, r.c.targets[k], eligible)
		if r.policy.Max == 0 && !s.capacity.limits(r.c.clusterTypes) || r.policy.External() && !s.capacity.limits(r.c.clusterTypes) {
			choices[k].chosen = choices[k].eligible
		}
	}
}

// noteUnmet warns about a policy that selects pairs, of which none meets its conditions.
func (s *solver) noteUnmet(r *rules, candidates [][]int32) {
	if len(candidates) == 0 || len(r.c.clusterTypes) == 0 || slices.ContainsFunc(candidates, func(c []int32) bool { return len(c) > 0 }) {
		return
	}
	var why refusal
	r.judge(r.c.targets[0], 0, &why)
	if why.step == StepExcluded || why.step == StepExclusive {
		return // what another policy is for
	}
	s.d.problems = append(s.d.problems, fleet.Problem{
		Severity: fleet.SeverityWarning, Kind: fleet.KindUnusedPolicy, Object: fleet.Ref{Kind: "SchedulingPolicy", Name: r.policy.Name},
		Position: r.policy.Position,
		Message: fmt.Sprintf("assigns nothing: no pair that it selects meets all conditions; %s: %s: %s",
			s.pairText(r.c.targets[0], r.c.clusterTypes[0]), why.step, why.text),
		Hint: "kalypso explain says why for each cluster type",
	})
}

// candidatePairs returns the cluster types that the policy lets through for each of its targets.
func (s *solver) candidatePairs(r *rules) [][]int32 {
	found := make([][]int32, len(r.c.targets))
	inChunks(len(r.c.targets), func(from, to int) {
		for k := from; k < to; k++ {
			for i := range r.c.clusterTypes {
				if r.judge(r.c.targets[k], i, nil) {
					found[k] = append(found[k], int32(i))
				}
			}
		}
	})
	return found
}

// inChunks calls do for parts of the range on all cores.
func inChunks(n int, do func(from, to int)) {
	cores := runtime.GOMAXPROCS(0)
	size := max((n+cores-1)/cores, 16)
	var wait sync.WaitGroup
	for from := 0; from < n; from += size {
		wait.Go(func() { do(from, min(from+size, n)) })
	}
	wait.Wait()
}

// chosenByScheduler returns those of the eligible pairs that an external scheduler chose; all if the policy has none.
func (s *solver) chosenByScheduler(r *rules, target int32, eligible []int32) []int32 {
	if !r.policy.External() {
		return eligible
	}
	return slices.DeleteFunc(slices.Clone(eligible), func(i int32) bool {
		_, chosen := r.answer.Pairs[s.pair(target, r.c.clusterTypes[i])]
		return !chosen
	})
}

// holdPolicy keeps the published pairs of a policy whose scheduler or extender gave no usable answer.
func (s *solver) holdPolicy(r *rules, err error) {
	problem := fleet.Problem{
		Severity: fleet.SeverityError, Kind: fleet.KindHeld, Object: fleet.Ref{Kind: "SchedulingPolicy", Name: r.policy.Name},
		Position: r.policy.Position, Message: err.Error(),
		Hint: "what the policy has assigned stays as published, and nothing is added until the question is answered",
	}
	var unanswered *Unanswered
	if errors.As(err, &unanswered) {
		problem.Kind, problem.Hint = unanswered.Kind, unanswered.Hint+"; "+problem.Hint
	}
	s.d.problems = append(s.d.problems, problem)
	r.c.held = err
	for k, target := range r.c.targets {
		for i, ct := range r.c.clusterTypes {
			p, ok := s.standing.find(target, ct)
			if _, excluded := s.excludedBy(target, ct, false); ok && !excluded && slices.Contains(p.policies, r.number) {
				s.choices[r.number][k].chosen = append(s.choices[r.number][k].chosen, int32(i))
				s.capacity.take(target, ct).stays = true
			}
		}
	}
}

// levels returns the policies that choose, by descending priority.
func (s *solver) levels() [][]int32 {
	byPriority := map[int][]int32{}
	var priorities []int
	for _, r := range s.rules {
		mode := r.policy.Mode
		chooses := r.policy.Max > 0 && !r.policy.External() || s.capacity.limits(r.c.clusterTypes)
		if mode == v1alpha1.PolicyExclude || mode == v1alpha1.PolicyOnDemand || r.c.held != nil || !chooses {
			continue
		}
		if byPriority[r.policy.Priority] == nil {
			priorities = append(priorities, r.policy.Priority)
		}
		byPriority[r.policy.Priority] = append(byPriority[r.policy.Priority], r.number)
	}
	slices.SortFunc(priorities, func(a, b int) int { return cmp.Compare(b, a) })
	levels := make([][]int32, len(priorities))
	for i, p := range priorities {
		levels[i] = byPriority[p]
	}
	return levels
}

// eachTarget calls do for each target of the policies, in an order that does not depend on other targets.
func (s *solver) eachTarget(policies []int32, do func(r *rules, k int)) {
	for _, p := range policies {
		r := s.rules[p]
		order := make([]int, len(r.c.targets))
		for k := range order {
			order[k] = k
		}
		slices.SortFunc(order, func(a, b int) int {
			return cmp.Or(cmp.Compare(s.targetHash[r.c.targets[a]], s.targetHash[r.c.targets[b]]), cmp.Compare(a, b))
		})
		for _, k := range order {
			do(r, k)
		}
	}
}

// publish sets the result of a policy: its targets on each of its cluster types, ascending.
func (s *solver) publish(policy int) {
	r := s.rules[policy]
	on := make([][]int32, len(r.c.clusterTypes))
	for k, choice := range s.choices[policy] {
		for _, i := range choice.chosen {
			on[i] = append(on[i], r.c.targets[k])
		}
	}
	r.c.on = on
}

// failed records that an expression could not be evaluated.
func (s *solver) failed(r *rules, e *fleet.Expression, err error, where string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.policy.Name + "\n" + e.String()
	if s.errors[key] == nil {
		s.errors[key] = &failure{policy: r.policy, expression: e.String(), where: where, err: err}
	}
	f := s.errors[key]
	f.count++
	if where < f.where { // the first one, whichever core finds it
		f.where, f.err = where, err
	}
}

// problems returns warnings about expressions that cannot be evaluated, and about targets without a place.
func (s *solver) problems() []fleet.Problem {
	var all []fleet.Problem
	for _, f := range s.errors {
		all = append(all, fleet.Problem{
			Severity: fleet.SeverityWarning, Kind: fleet.KindInvalidValue, Object: fleet.Ref{Kind: "SchedulingPolicy", Name: f.policy.Name},
			Position: f.policy.Position, Message: fmt.Sprintf("%s cannot be evaluated for %s: %v", f.expression, f.where, f.err),
			Hint: "what is published there stays, and nothing new is assigned",
		})
	}
	all = append(all, s.unlimited()...)
	all = append(all, s.excludesNothing()...)
	for policy, short := range s.short {
		p := s.d.candidates[policy].policy
		all = append(all, fleet.Problem{
			Severity: fleet.SeverityWarning, Kind: fleet.KindUnplaced, Object: fleet.Ref{Kind: "SchedulingPolicy", Name: p.Name}, Position: p.Position,
			Message: fmt.Sprintf("%s on fewer cluster types than wanted, such as %s: %s", count(short.targets, "target is", "targets are"), short.example, shortText[short.step]),
			Hint:    fmt.Sprintf("kalypso explain %s says why for each cluster type", short.example),
		})
	}
	return all
}

// excludesNothing returns a warning for each policy of mode exclude with a filter for something that no cluster type has, such as a
// misspelt label: what it should keep out is let in.
func (s *solver) excludesNothing() []fleet.Problem {
	var all []fleet.Problem
	for _, r := range s.rules {
		if r.policy.Mode != v1alpha1.PolicyExclude || len(r.absent) == 0 || len(r.c.targets) == 0 || slices.Contains(r.absent, "") {
			continue
		}
		all = append(all, fleet.Problem{
			Severity: fleet.SeverityWarning, Kind: fleet.KindUnusedPolicy, Object: fleet.Ref{Kind: "SchedulingPolicy", Name: r.policy.Name},
			Position: r.policy.Position, Message: fmt.Sprintf("excludes nothing: no cluster type that it selects has %q", r.absent[0]),
			Hint: "compare the names in its filters with the labels of the cluster types",
		})
	}
	return all
}

// unlimited returns a warning for each resource that targets request, and that no cluster type limits: probably a typo.
func (s *solver) unlimited() []fleet.Problem {
	if len(s.capacity.resources) == 0 {
		return nil
	}
	first, counts := map[string]*fleet.Target{}, map[string]int{}
	for _, t := range s.d.targets {
		for name := range t.Requests {
			if _, limited := slices.BinarySearch(s.capacity.resources, name); !limited {
				first[name] = cmp.Or(first[name], t)
				counts[name]++
			}
		}
	}
	var all []fleet.Problem
	for _, name := range slices.Sorted(maps.Keys(first)) {
		t := first[name]
		p := fleet.Problem{
			Severity: fleet.SeverityWarning, Kind: fleet.KindUnlimited, Object: fleet.Ref{Kind: "DeploymentTarget", Name: t.Name}, Position: t.Position,
			Message: "requests " + name + ", which no cluster type limits" + instead("", name, "", s.capacity.resources),
		}
		if counts[name] > 1 {
			p.Message += fmt.Sprintf("; %s, too", count(counts[name]-1, "other target does", "other targets do"))
		}
		all = append(all, p)
	}
	return all
}

var shortText = map[Step]string{
	StepCapacity: "there is not enough capacity",
	StepSpread:   "the spread allows no more",
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

func (s *solver) pair(target, clusterType int32) Pair {
	return Pair{Target: s.d.targets[target].Name, ClusterType: s.d.clusterTypes[clusterType].Name}
}

func (s *solver) pairText(target, clusterType int32) string {
	return s.d.targets[target].String() + " on " + s.d.clusterTypes[clusterType].Name
}

func (s *solver) policyNames(policies []int32) string {
	names := make([]string, len(policies))
	for i, p := range policies {
		names[i] = s.d.candidates[p].policy.Name
	}
	if len(names) == 1 {
		return "policy " + names[0] + " decides alone"
	}
	return "policies " + strings.Join(names, ", ") + " decide alone"
}

// hashName returns a number that depends on nothing but the name, and stays the same for ever: ties are broken with it.
func hashName(name string) uint64 {
	sum := sha256.Sum256([]byte(name))
	return binary.BigEndian.Uint64(sum[:])
}

// tie returns the number of a pair that breaks ties, as in rendezvous hashing (https://doi.org/10.1109/90.663936): if a
// cluster type comes or goes, only the targets that it wins or had are affected.
func (s *solver) tie(target, clusterType int32) uint64 {
	x := s.targetHash[target] ^ s.clusterTypeHash[clusterType]*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
