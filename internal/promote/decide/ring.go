package decide

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

// RingName returns the name under which a ring, or a batch of a ring, is decided about and recorded: "<environment>/<stage>".
func RingName(environment, stage string) string { return environment + "/" + stage }

// SplitRing returns the environment and the stage of a name of [RingName]; stage is empty for the name of an environment.
func SplitRing(name string) (environment, stage string) {
	environment, stage, _ = strings.Cut(name, "/")
	return environment, stage
}

// NewRings returns the chain of an environment's rings. Their commits are those of the environment's GitOps branch, and each stage
// comes after all earlier ones. stages are those in the branch, in order; the rules are those of the environment. A stage
// without rules stands still.
func NewRings(environment Stage, stages []fleet.Stage) *Chain {
	chain := &Chain{}
	var before []string
	var sites []string // those of the ring, which do not wait for each other
	for i, s := range stages {
		if i > 0 && stages[i-1].Ring != s.Ring {
			before, sites = append(before, sites...), nil
		}
		next := &stage{name: RingName(environment.Name, s.Name), rules: &Rules{Approval: v1alpha1.ApprovalAutomatic, OnFailure: v1alpha1.FailureStop}}
		if ring := ringOf(environment.Promotion, s.Ring); ring != nil {
			var wrong []string
			next.rules, wrong = ringRules(environment, ring)
			next.problem = strings.Join(wrong, "; ")
		} else {
			next.problem = fmt.Sprintf("environment %q has no ring %q any more", environment.Name, s.Ring)
		}
		next.rules.ring = true
		next.rules.After = slices.Clone(before)
		if cluster, own := s.Own(); own {
			var err error
			if next.rules.site, err = newSite(cluster, s); err != nil {
				next.problem = err.Error()
			}
			sites = append(sites, next.name)
		} else {
			before = append(before, next.name)
		}
		chain.stages = append(chain.stages, next)
	}
	return chain
}

func ringOf(p *v1alpha1.Promotion, name string) *v1alpha1.Ring {
	if p == nil {
		return nil
	}
	i := slices.IndexFunc(p.Rings, func(r v1alpha1.Ring) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Rings[i]
}

// ringRules parses the rules of a ring. What the ring does not say, its environment says, except for verifications.
func ringRules(environment Stage, r *v1alpha1.Ring) (*Rules, []string) {
	p := v1alpha1.Promotion{
		Soak: r.Soak, Windows: r.Windows, Freezes: environment.Promotion.Freezes, Gate: r.Gate, Verify: r.Verify, OnFailure: r.OnFailure,
		Newer: environment.Promotion.Newer, RollbackWindow: environment.Promotion.RollbackWindow,
	}
	if p.Windows == nil {
		p.Windows = environment.Promotion.Windows
	}
	if p.Gate == nil {
		p.Gate = environment.Promotion.Gate
	}
	rules, wrong := parseRules(&p, environment.Gate)
	approval, err := choice(r.Approval, v1alpha1.RingAutomatic, v1alpha1.RingManual)
	if err != nil {
		wrong = append(wrong, fmt.Sprintf("approval: %v", err))
	}
	rules.manual = approval == v1alpha1.RingManual
	rules.maxDelay = defaultMaxDelay
	if r.MaxDelay != nil {
		rules.maxDelay = r.MaxDelay.Duration
	}
	rules.Gate.MaxDelay = rules.maxDelay
	if r.MaxFailures != nil {
		count, percent, err := fleet.ParseCount(*r.MaxFailures)
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("maxFailures: %v", err))
		}
		rules.Gate.MaxFailures = comply.Require{Count: count, Percent: percent}
	}
	return rules, wrong
}

// rolledOut reports whether every ring has run a commit, or a later one. Such a commit is not taken back without a user: a cluster that
// breaks later would otherwise take all rings back, to one commit after the other, because it fails with each of them.
func (r *round) rolledOut(commit string) bool {
	position, known := r.positions[commit]
	lacks := func(s *stage) bool {
		p := r.places[s.name]
		return !r.ranSince(p, position) && !r.beganAt(p, position)
	}
	// A cluster that is changed later than the others does not keep them from being done.
	others := slices.DeleteFunc(slices.Clone(r.Chain.stages), func(s *stage) bool { return s.rules.site != nil })
	if len(others) == 0 {
		others = r.Chain.stages
	}
	return known && !slices.ContainsFunc(others, lacks)
}

// beganAt reports whether a ring had a commit of the line, or a later one, from the beginning: its clusters had it before, in another batch.
func (r *round) beganAt(p *place, position int) bool {
	return len(p.carriers) > 0 && r.position(p.carriers[0].Commit) >= position
}

// failedLater returns why a ring goes back although its own clusters are well: a later ring, or another cluster of the ring that says when it
// may be changed, gave up the commit, and its rules say that the rollout goes back. It returns "" if the ring stays.
func (r *round) failedLater(p *place) string {
	if !p.rules.ring || p.state == TakenBack || p.state == Unknown {
		return ""
	}
	for _, q := range r.all {
		if ev := q.evidence[p.env.Commit]; q.rules.OnFailure != v1alpha1.FailureRollback || ev == nil || !ev.failed || q == p {
			continue
		}
		beside := q.rules.site != nil && slices.Contains(p.beside, q) && !q.exempt(p.env.Commit)
		if beside || slices.Contains(q.rules.After, p.name) {
			return "it failed in " + q.name
		}
	}
	return ""
}
