package placement

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// rules are the conditions and preferences of one policy beyond its selectors, prepared for all cluster types.
// Whatever depends on the cluster type alone is evaluated once.
type rules struct {
	s      *solver
	number int32 // of the policy
	c      *candidates
	policy *fleet.Policy
	answer Answer

	// of each cluster type of the policy, by its index in candidates.clusterTypes
	refused []refusal // by filters, features and taints; the step is empty where there is none
	keeps   []bool    // the refusal does not concern what is published
	soft    []bool    // it has a taint PreferNoSchedule
	points  []int     // of preferences that do not depend on the target
	unknown []bool    // a preference that does not depend on the target cannot be evaluated
	// absent is what a filter of a policy of mode exclude asks for and the cluster type does not have; nil for other modes.
	absent []string

	pairFilters     []fleet.Filter     // that depend on the target
	pairPreferences []fleet.Preference // that depend on the target
}

func newRules(s *solver, number int) *rules {
	c := &s.d.candidates[number]
	r := &rules{
		s: s, number: int32(number), c: c, policy: c.policy, answer: s.options.Answers[c.policy.Name],
		refused: make([]refusal, len(c.clusterTypes)), keeps: make([]bool, len(c.clusterTypes)),
		soft: make([]bool, len(c.clusterTypes)), points: make([]int, len(c.clusterTypes)), unknown: make([]bool, len(c.clusterTypes)),
	}
	if c.policy.Mode == v1alpha1.PolicyExclude {
		r.absent = make([]string, len(c.clusterTypes))
	}
	for _, f := range c.policy.Filters {
		if f.Expression.Target {
			r.pairFilters = append(r.pairFilters, f)
		}
	}
	for _, p := range c.policy.Preferences {
		if p.Expression != nil && p.Expression.Target {
			r.pairPreferences = append(r.pairPreferences, p)
		}
	}
	for i, ct := range c.clusterTypes {
		r.judgeClusterType(i, ct)
	}
	return r
}

// judgeClusterType applies what does not depend on the target.
func (r *rules) judgeClusterType(i int, number int32) {
	ct := r.s.d.clusterTypes[number]
	facts := r.s.clusterTypeFacts[number]
	for _, f := range r.policy.Filters {
		if f.Expression.Target {
			continue
		}
		holds, missing, err := f.Expression.Holds(r.s.d.environment, noFacts, facts)
		if err != nil {
			r.s.failed(r, f.Expression, err, "cluster type "+ct.Name)
		}
		if !holds {
			r.refused[i], r.keeps[i] = filterRefusal(f, missing, err), err != nil
			if r.absent != nil {
				r.absent[i] = missing
			}
			return
		}
	}
	for _, f := range r.policy.RequiredFeatures {
		if met, have := f.MetBy(ct); !met {
			r.refused[i] = refusal{StepFeatures, fmt.Sprintf("wants %s, has %s", f, have)}
			return
		}
	}
	if r.policy.Mode != v1alpha1.PolicyExclude {
		r.judgeTaints(i, ct)
	}
	for _, p := range r.policy.Preferences {
		switch {
		case p.Selector != nil && p.Selector.Matches(objectOf(ct).labels):
			r.points[i] += p.Weight
		case p.Expression != nil && !p.Expression.Target:
			points, known := r.pointsOf(p, noFacts, facts, "cluster type "+ct.Name)
			r.points[i] += points
			r.unknown[i] = r.unknown[i] || !known
		}
	}
}

// noFacts stands for a target, or cluster type, that an expression does not refer to.
var noFacts = new(fleet.Facts)

func filterRefusal(f fleet.Filter, missing string, err error) refusal {
	text := cmp.Or(f.Message, f.Expression.String())
	switch {
	case err != nil:
		text += fmt.Sprintf(" (cannot be evaluated: %v)", err)
	case missing != "":
		text += fmt.Sprintf(" (there is no %q)", missing)
	}
	return refusal{StepFilters, text}
}

// judgeTaints applies the effects of taints as Kubernetes does:
// https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
func (r *rules) judgeTaints(i int, ct *fleet.ClusterType) {
	for _, t := range ct.Taints {
		if slices.ContainsFunc(r.policy.Tolerations, func(o v1alpha1.Toleration) bool { return tolerates(o, t) }) {
			continue
		}
		if t.Effect == v1alpha1.PreferNoSchedule {
			r.soft[i] = true
			continue
		}
		if r.refused[i].step == "" || t.Effect == v1alpha1.NoExecute {
			r.refused[i] = refusal{StepTaints, "does not tolerate " + taintText(t)}
			r.keeps[i] = t.Effect == v1alpha1.NoSchedule
		}
	}
}

func tolerates(o v1alpha1.Toleration, t v1alpha1.Taint) bool {
	return (o.Effect == "" || o.Effect == t.Effect) && (o.Key == "" || o.Key == t.Key) &&
		(o.Operator == v1alpha1.TolerationExists || o.Value == t.Value)
}

func taintText(t v1alpha1.Taint) string {
	text := t.Key
	if t.Value != "" {
		text += "=" + t.Value
	}
	return text + ":" + string(t.Effect)
}

// pointsOf returns the points of a preference, and false if it cannot be evaluated.
func (r *rules) pointsOf(p fleet.Preference, t, ct *fleet.Facts, where string) (points int, known bool) {
	percent, err := p.Expression.Percent(r.s.d.environment, t, ct)
	if err != nil {
		r.s.failed(r, p.Expression, err, where)
	}
	return int(math.Round(float64(p.Weight) * percent / 100)), err == nil
}

// score returns the points of a pair, and false if a preference cannot be evaluated. i is the index of the cluster type in
// candidates.clusterTypes.
func (r *rules) score(target int32, i int) (points int, known bool) {
	points, known = r.points[i], !r.unknown[i]
	for _, p := range r.pairPreferences {
		ct := r.c.clusterTypes[i]
		more, ok := r.pointsOf(p, r.s.targetFacts[target], r.s.clusterTypeFacts[ct], r.s.pairText(target, ct))
		points, known = points+more, known && ok
	}
	for _, e := range r.policy.Extenders {
		if e.Weight != 0 {
			score := r.answer.Extenders[e.Name].Scores[r.s.pair(target, r.c.clusterTypes[i])]
			points += int(math.Round(float64(e.Weight) * float64(min(max(score, 0), 100)) / 100))
		}
	}
	return points, known
}

// judge reports whether the steps before the choice let a pair through. If not, and why is not nil, it tells why.
func (r *rules) judge(target int32, i int, why *refusal) bool {
	ct := r.c.clusterTypes[i]
	refuse := func(step Step, text func() string) bool {
		if why != nil {
			*why = refusal{step, text()}
		}
		return false
	}
	if r.policy.Mode != v1alpha1.PolicyExclude {
		if policy, excluded := r.s.excludedBy(target, ct, why != nil); excluded {
			return refuse(StepExcluded, func() string { return "policy " + policy + " excludes it" })
		}
		if e := r.s.exclusive[target]; e != nil && !slices.Contains(e, r.number) {
			return refuse(StepExclusive, func() string { return r.s.policyNames(e) + " for this target" })
		}
	}
	if r.refused[i].step != "" && (!r.keeps[i] || !r.s.standing.own(r.number, target, ct)) {
		return refuse(r.refused[i].step, func() string { return r.refused[i].text })
	}
	for _, f := range r.pairFilters {
		holds, missing, err := f.Expression.Holds(r.s.d.environment, r.s.targetFacts[target], r.s.clusterTypeFacts[ct])
		if err != nil {
			r.s.failed(r, f.Expression, err, r.s.pairText(target, ct))
			holds = r.s.standing.own(r.number, target, ct)
		}
		if !holds {
			return refuse(StepFilters, func() string { return filterRefusal(f, missing, err).text })
		}
	}
	for _, f := range r.s.d.targets[target].RequiredFeatures {
		if met, have := f.MetBy(r.s.d.clusterTypes[ct]); !met {
			return refuse(StepFeatures, func() string { return fmt.Sprintf("the target wants %s, has %s", f, have) })
		}
	}
	for _, e := range r.policy.Extenders {
		if reason, refused := r.answer.Extenders[e.Name].Refused[r.s.pair(target, ct)]; refused {
			return refuse(StepExtenders, func() string { return strings.TrimSuffix(e.Name+": "+reason, ": ") })
		}
	}
	return true
}

// brokenAnswer returns why the answers that the policy needs cannot be used; nil if they can.
func (r *rules) brokenAnswer() error {
	if r.policy.External() {
		if _, asked := r.s.options.Answers[r.policy.Name]; !asked {
			return fmt.Errorf("scheduler %q was not asked", r.policy.Scheduler)
		}
		return r.answer.Err
	}
	for _, e := range r.policy.Extenders {
		extension, asked := r.answer.Extenders[e.Name]
		if !asked {
			return fmt.Errorf("extender %q was not asked", e.Name)
		}
		if extension.Err != nil {
			return fmt.Errorf("extender %q: %w", e.Name, extension.Err)
		}
	}
	return nil
}
