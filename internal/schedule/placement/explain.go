package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Explanation gives the reasons why a target is, or is not, on a cluster type.
type Explanation struct {
	Target      string `json:"target"`
	ClusterType string `json:"clusterType"`
	Assigned    bool   `json:"assigned"`
	// Needs are the dependencies of an assignment, and NeededBy what depends on it on the cluster type, as "<workload>/<short name>".
	Needs    []Need   `json:"needs,omitempty"`
	NeededBy []string `json:"neededBy,omitempty"`
	// Lacks explains which dependency holds the assignment.
	Lacks string `json:"lacks,omitempty"`
	// Policies has an entry for each policy of the environment, sorted by name.
	Policies []PolicyReason `json:"policies"`
}

// PolicyReason tells whether a policy selects a pair, and if not, why.
type PolicyReason struct {
	Policy   string         `json:"policy"`
	Position fleet.Position `json:"position"`
	// Mode is what the policy does with the pairs that it selects: include, exclude, exclusive or onDemand.
	Mode v1alpha1.PolicyMode `json:"mode"`
	// Selects means that the pair gets through all steps: the policy assigns it, or with the mode exclude, excludes it.
	Selects bool `json:"selects"`
	// Step is the first step that does not let the pair through. Empty when the policy selects the pair.
	Step Step `json:"step,omitempty"`
	// Failed lists every requirement of the selectors that does not hold, the target's first.
	Failed []Requirement `json:"failed,omitempty"`
	// Reason explains the result of the other steps. It can be empty for a policy that selects the pair.
	Reason string `json:"reason,omitempty"`
	// Score and Rank are those of the pair among the eligible ones of its target, and Wanted how many of them the policy
	// assigns. They are absent unless the policy limits that.
	Score  *int `json:"score,omitempty"`
	Rank   int  `json:"rank,omitempty"`
	Wanted int  `json:"wanted,omitempty"`
}

// Requirement is one condition of a selector that does not hold.
type Requirement struct {
	// Of is the side it applies to: "target" or "clusterType".
	Of string `json:"of"`
	// Want is the requirement in readable form: `edge=true`, `region in (east-us, west-us)`, `workspace kaizen-app-team`.
	Want string `json:"want"`
	// Have is what was found: `edge=false`, or `no label edge`.
	Have string `json:"have"`
}

// Explain returns the reasons for one pair. The target is given by its name, or as "<workload>/<short name>".
// The error for an unknown target or cluster type suggests similar names.
func (d *Decisions) Explain(target, clusterType string) (Explanation, error) {
	t, err := d.targetNamed(target)
	if err != nil {
		return Explanation{}, err
	}
	ct, err := d.clusterTypeNamed(clusterType)
	if err != nil {
		return Explanation{}, err
	}
	_, assigned := slices.BinarySearch(d.selected.rows[ct].targets, int32(t))
	e := Explanation{
		Target:      d.targets[t].Name,
		ClusterType: d.clusterTypes[ct].Name,
		Assigned:    assigned,
		Policies:    make([]PolicyReason, len(d.candidates)),
	}
	d.explainNeeds(&e, int32(t), int32(ct))
	tracing := d.traced(int32(t))
	for i := range d.candidates {
		e.Policies[i] = d.explain(tracing, &e, int32(i), int32(t), int32(ct))
	}
	return e, nil
}

// traced returns the solver of a decision that is repeated to trace a target; nil if all policies only select.
func (d *Decisions) traced(target int32) *solver {
	if d.isPlain() {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lastTraced == nil || !d.lastTraced.tracing.targets[target] {
		d.lastTraced = d.repeat(newTrace(target))
	}
	return d.lastTraced
}

func (d *Decisions) policies() []*fleet.Policy {
	policies := make([]*fleet.Policy, len(d.candidates))
	for i, c := range d.candidates {
		policies[i] = c.policy
	}
	return policies
}

// explain returns what a policy does with a pair.
func (d *Decisions) explain(s *solver, e *Explanation, policy, target, clusterType int32) PolicyReason {
	c := &d.candidates[policy]
	p := PolicyReason{Policy: c.policy.Name, Position: c.policy.Position, Mode: cmp.Or(c.policy.Mode, v1alpha1.PolicyInclude)}
	p.Failed = slices.Concat(c.target.failed(d.targetIndex.objects[target]), c.clusterType.failed(d.clusterTypeIndex.objects[clusterType]))
	switch {
	case len(p.Failed) > 0:
		p.Step = StepSelectors
		return p
	case s == nil:
		p.Selects = true
		return p
	}
	s.explain(&p, e, policy, target, clusterType)
	return p
}

// explain adds the steps after the selectors.
func (s *solver) explain(p *PolicyReason, e *Explanation, policy, target, clusterType int32) {
	r := s.rules[policy]
	i, _ := slices.BinarySearch(r.c.clusterTypes, clusterType)
	p.Selects = r.c.assigns(target, clusterType)
	if p.Mode == v1alpha1.PolicyExclude {
		if p.Selects = r.excludes(target, i); p.Selects {
			return
		}
		p.Step, p.Reason = StepFilters, "a filter cannot be evaluated, and what is published is not excluded then"
	}
	var why refusal
	switch {
	case r.c.held != nil && p.Selects:
		p.Reason = "it stays as published: " + r.c.held.Error()
	case r.c.held != nil:
		p.Step, p.Reason = StepScheduler, r.c.held.Error()
	case !r.judge(target, i, &why):
		p.Step, p.Reason = why.step, why.text
	case p.Mode == v1alpha1.PolicyExclude:
	case p.Mode == v1alpha1.PolicyOnDemand:
		s.explainDemand(p, e, target, clusterType)
	default:
		s.explainChoice(p, r, target, int32(i))
	}
}

// explainChoice adds why a policy chose, or did not choose, an eligible pair.
func (s *solver) explainChoice(p *PolicyReason, r *rules, target, i int32) {
	if r.policy.External() {
		verdict, chosen := r.answer.Pairs[s.pair(target, r.c.clusterTypes[i])]
		p.Reason = strings.TrimSuffix(r.policy.Scheduler+": "+verdict.Reason, ": ")
		if !chosen {
			p.Step, p.Reason = StepScheduler, r.policy.Scheduler+" did not choose it"
			return
		}
	}
	o := s.tracing.outcomes[traced{r.number, target}]
	if o == nil {
		return
	}
	reason, known := o.reasons[i]
	if !known {
		if !p.Selects {
			p.Step, p.Reason = StepScore, "a preference cannot be evaluated, so nothing new is assigned"
		}
		return
	}
	if why, evicted := s.tracing.evicts[evicted{r.number, target, r.c.clusterTypes[i]}]; evicted && !p.Selects {
		reason.step, reason.text = StepCapacity, why
	}
	p.Step, p.Reason = reason.step, cmp.Or(reason.text, p.Reason)
	if r.policy.Max > 0 && !r.policy.External() {
		p.Score, p.Rank, p.Wanted = &reason.score, reason.rank, o.wanted
	}
}

// Has reports whether there is a target with a name, in either form.
func (d *Decisions) Has(target string) bool {
	_, err := d.targetNamed(target)
	return err == nil
}

// targetNamed returns the position of a target. The two forms of a name cannot collide, because names have no slashes.
func (d *Decisions) targetNamed(name string) (int, error) {
	i := slices.IndexFunc(d.targets, func(t *fleet.Target) bool { return t.Name == name || t.String() == name })
	if i >= 0 {
		return i, nil
	}
	names := make([]string, len(d.targets))
	for i, t := range d.targets {
		names[i] = t.Name
		// Suggest names in the form that the caller used.
		if strings.Contains(name, "/") {
			names[i] = t.String()
		}
	}
	return 0, d.unknown("target", name, names)
}

func (d *Decisions) clusterTypeNamed(name string) (int, error) {
	if i, ok := d.clusterType(name); ok {
		return i, nil
	}
	names := make([]string, len(d.clusterTypes))
	for i, ct := range d.clusterTypes {
		names[i] = ct.Name
	}
	return 0, d.unknown("cluster type", name, names)
}

// unknown returns the error for a name that does not exist, with up to three similar ones.
func (d *Decisions) unknown(noun, name string, names []string) error {
	near := nearest(name, names)
	if len(near) == 0 {
		return fmt.Errorf("no %s %q: environment %q has no %ss", noun, name, d.environment, noun)
	}
	for i, n := range near {
		near[i] = strconv.Quote(n)
	}
	list, last := strings.Join(near[:len(near)-1], ", "), near[len(near)-1]
	if list != "" {
		last = list + " or " + last
	}
	return fmt.Errorf("no %s %q in environment %q: did you mean %s?", noun, name, d.environment, last)
}

// nearest returns the up to three names that are most similar to word, the most similar first.
func nearest(word string, names []string) []string {
	distance := make(map[string]int, len(names))
	for _, n := range names {
		distance[n] = levenshtein.ComputeDistance(word, n)
		if strings.Contains(n, word) {
			// Part of a name is a better sign than a few letters in common.
			distance[n] = 1
		}
	}
	near := slices.SortedFunc(slices.Values(names), func(a, b string) int {
		return cmp.Or(cmp.Compare(distance[a], distance[b]), cmp.Compare(a, b))
	})
	return near[:min(3, len(near))]
}
