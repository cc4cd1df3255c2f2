package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

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

// gaveUp reports whether a commit failed in a ring, and has not been promoted to it again.
func (p *place) gaveUp(commit string) bool {
	for i := len(p.env.History) - 1; i >= 0; i-- {
		if s := p.env.History[i]; s.Commit == commit {
			return s.Kind == StepFailed
		}
	}
	return false
}

// rolledOut reports whether every ring has run a commit, or a later one. Such a commit is not taken back without a user: a cluster that
// breaks later would otherwise take all rings back, to one commit after the other, because it fails with each of them.
func (r *round) rolledOut(commit string) bool {
	position, known := r.positions[commit]
	lacks := func(s *stage) bool {
		p := r.places[s.name]
		return !p.ranSince(position) && !r.beganAt(p, position)
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
	first := slices.IndexFunc(p.env.History, func(s Step) bool { return s.Kind == StepStarted })
	if first < 0 {
		return false
	}
	at, known := r.positions[p.env.History[first].Commit]
	return known && at >= position
}

// failedLater returns why a ring goes back although its own clusters are well: a later ring, or another cluster of the ring that says when it
// may be changed, gave up the commit, and its rules say that the rollout goes back. It returns "" if the ring stays.
func (r *round) failedLater(p *place) string {
	if !p.rules.ring || p.phase == Aborted || p.phase == Unknown {
		return ""
	}
	position, known := r.positions[p.env.Commit]
	for _, s := range r.Chain.stages {
		q := r.places[s.name]
		if q.rules.OnFailure != v1alpha1.FailureRollback || known && !q.runs[position].failed || !known && !q.gaveUp(p.env.Commit) {
			continue
		}
		beside := q != p && q.rules.site != nil && slices.Contains(p.beside, q) && !q.exempt(p.env.Commit)
		if beside || slices.Contains(q.rules.After, p.name) {
			return "it failed in " + q.name
		}
	}
	return ""
}

// Progress is how far a commit of an environment's branch is in the rings.
type Progress struct {
	// Verdict is that of all rings together.
	Verdict comply.Verdict
	// Started means that a ring has the commit, or a later one.
	Started bool
}

// RingProgress returns how far a commit is, according to the facts of the rings and the decisions about them. The verdict is passed when
// every ring has run the commit, or a later one that contains it; failed if it, or a later one, failed in a ring.
func RingProgress(f Facts, decisions []Decision, commit string, now time.Time) Progress {
	r := newRound(f, now)
	v := comply.Verdict{Commit: commit, Result: comply.Passed, Reconcilers: []comply.Reconciler{}}
	progress := Progress{}
	position, known := r.positions[commit]
	if !known {
		v.Result, v.Reason = comply.Waiting, "the branch of the environment does not have the commit any more"
		return Progress{Verdict: v}
	}
	waits, fails := "", ""
	var delayed []string
	for i, s := range r.Chain.stages {
		p := r.places[s.name]
		at, onLine := r.positions[p.env.Commit]
		has := onLine && at >= position
		progress.Started = progress.Started || has
		done := p.ranSince(position)
		later := !done && r.delayed(p, position)
		v.Add(&p.env.Verdict, has)
		v.Next = earlier(v.Next, decisions[i].Next)
		switch {
		case later:
			site := &p.env.Verdict
			v.Counts.Counted -= site.Counts.Counted
			v.Counts.Required -= site.Counts.Required
			for i := range site.Reconcilers { // which Add added last
				v.Reconcilers[len(v.Reconcilers)-1-i].Uncounted = true
			}
			delayed = append(delayed, p.rules.site.cluster)
			v.Next = earlier(v.Next, r.limit(p, position))
		case has && p.phase == Failed:
			fails = cmp.Or(fails, decisions[i].Environment+": "+decisions[i].Reason)
		case !has && p.runs[position].lost:
			fails = cmp.Or(fails, fmt.Sprintf("it failed in %s, which went back to %s", p.name, fleet.ShortCommit(p.env.Commit)))
		case !done && waits == "":
			waits = decisions[i].Environment + ": " + decisions[i].Reason
		case done:
			v.Since = p.since(v.Since, position)
		}
	}
	v.Sort()
	switch {
	case fails != "":
		v.Result, v.Reason = comply.Failed, fails
	case waits != "":
		v.Result, v.Reason = comply.Waiting, waits
	default:
		v.Reason = "every ring runs it"
		if len(delayed) > 0 {
			v.Reason += ", except " + changedLater(delayed)
		}
	}
	if v.Result != comply.Passed {
		v.Since = time.Time{}
	}
	progress.Verdict = v
	return progress
}

// ranSince reports whether the ring ran the commit at a position of the line, or a later one.
func (p *place) ranSince(position int) bool {
	return slices.ContainsFunc(p.runs[position:], func(r run) bool { return r.arrived })
}

// since returns the later of a time and when the ring first ran the commit at a position, or a later one.
func (p *place) since(last time.Time, position int) time.Time {
	var first time.Time
	for _, r := range p.runs[position:] {
		if r.arrived && !r.first.IsZero() && (first.IsZero() || r.first.Before(first)) {
			first = r.first
		}
	}
	if first.After(last) {
		return first
	}
	return last
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// RanInRing reports whether a ring ran a commit without giving it up since.
func RanInRing(f Facts, commit string) bool {
	for i := range f.Environments {
		e := &f.Environments[i]
		ran := slices.ContainsFunc(e.History, func(s Step) bool { return s.Kind == StepDeployed && s.Commit == commit })
		if ran && !(&place{env: e}).gaveUp(commit) {
			return true
		}
	}
	return false
}
