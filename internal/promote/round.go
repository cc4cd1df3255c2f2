package promote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// round holds the state of one round.
type round struct {
	*Promoter
	pipeline Pipeline
	reading  *State
	subject  *subject
	journal  *journal
	// running holds the verifications that were running before the journal was read. One that ends in between counts as running,
	// because its result may be missing from the journal.
	running map[checkKey]bool
	// clock is what the clock said when the round began, at the time that the round takes place: see [round.notBefore].
	clock, at time.Time
	// lanes holds the chain of environments, and then the rings of each environment that has rings.
	lanes   []*lane
	outcome *Outcome
	// watched are the environments without rules, each a lane of its own.
	watched []*lane
	// reviewed are the places whose reviews were read, again when another round may be needed because of reviews.
	reviewed map[string]bool
	again    []time.Time
	// requests are the Jobs that clusters should run.
	requests []*jobRequest
}

// lane is a chain of environments, the rings of one environment, or an environment without rules, in a round.
type lane struct {
	// environment is that of rings, or the one without rules; empty for the chain of environments.
	environment string
	places      []EnvironmentState
	facts       decide.Facts
	decisions   []decide.Decision
	// decided are the decisions about rings; nil for the chain of environments.
	decided *decide.Rings
}

// gather collects the facts and decides, first about rings, on which the verdicts of their environments depend.
// An environment with missing facts is unknown, and the error explains why.
func (r *round) gather(ctx context.Context) error {
	clusters := &registry{ledger: r.Ledger}
	environments := &lane{places: r.reading.Places, facts: decide.Facts{Chain: r.reading.Chain, Authors: map[string][]string{}, Merged: map[string]time.Time{}}}
	for _, c := range r.reading.Line {
		environments.facts.Line = append(environments.facts.Line, c.SHA)
		environments.facts.Merged[c.SHA] = c.Time
		if len(c.Authors) > 0 {
			environments.facts.Authors[c.SHA] = c.Authors
		}
	}
	r.lanes = []*lane{environments}
	var failed error
	for _, place := range r.reading.Places {
		if _, ok := r.reading.Chain.Rules(place.Environment); ok && place.Rings != nil && place.Unknown == "" && place.Rings.Unknown == "" {
			l, err := r.gatherRings(ctx, clusters, place)
			failed = errors.Join(failed, err)
			r.lanes = append(r.lanes, l)
		}
	}
	failed = errors.Join(failed, r.gatherPlaces(ctx, clusters, environments, func(place EnvironmentState) decide.Environment {
		return r.journal.page(place.Environment).environment(place)
	}))
	environments.decisions = decide.Decide(environments.facts, r.at)
	return errors.Join(failed, r.watch(ctx, clusters))
}

// gatherPlaces collects the facts of a lane. read returns those of a place, without the verdict.
func (r *round) gatherPlaces(ctx context.Context, clusters *registry, l *lane, read func(EnvironmentState) decide.Environment) error {
	var failed error
	for _, place := range l.places {
		rules, ok := l.facts.Chain.Rules(place.Environment)
		if !ok {
			continue
		}
		e := read(place)
		if e.Unknown == "" {
			var err error
			e.Carriers = r.carriers(&place)
			r.addRecordedReviews(e.Carriers, place)
			if place.Rings != nil {
				r.ringVerdict(&e, place)
			} else if e.Verdict, err = r.verdict(ctx, clusters, place, rules.Gate, e.Carriers); err != nil {
				e.Unknown = err.Error()
				failed = joinIn(place.Environment, failed, err)
			}
			e.Checks = r.markRunning(e.Checks, place)
			r.addReviews(ctx, l, &e, place, rules)
		}
		l.facts.Environments = append(l.facts.Environments, e)
	}
	return failed
}

// lane returns the lane of an environment or ring.
func (r *round) lane(name string) *lane {
	if environment, stage := decide.SplitRing(name); stage != "" {
		return r.rings(environment)
	}
	for _, l := range r.watched {
		if l.environment == name {
			return l
		}
	}
	return r.lanes[0]
}

// rings returns the rings of an environment; they are empty if it has none.
func (r *round) rings(environment string) *lane {
	for _, l := range r.lanes[1:] {
		if l.environment == environment {
			return l
		}
	}
	return &lane{environment: environment, facts: decide.Facts{Chain: &decide.Chain{}}}
}

// place returns the state of an environment or ring in Git and on the forge.
func (r *round) place(environment string) EnvironmentState {
	places := r.lane(environment).places
	if i := slices.IndexFunc(places, func(p EnvironmentState) bool { return p.Environment == environment }); i >= 0 {
		return places[i]
	}
	return EnvironmentState{Environment: environment}
}

func (r *round) environment(name string) decide.Environment {
	all := r.lane(name).facts.Environments
	if i := slices.IndexFunc(all, func(e decide.Environment) bool { return e.Name == name }); i >= 0 {
		return all[i]
	}
	return decide.Environment{Name: name}
}

// describe returns the outcome.
func (r *round) describe() *Outcome {
	o := &Outcome{
		Subject: r.reading.Subject, At: r.at, Environments: []Standing{},
		Problems: r.reading.Problems, Line: r.reading.Line, Read: r.reading.Read,
	}
	if until := r.standsStill(); !until.IsZero() {
		o.Problems = append(slices.Clone(o.Problems), fleet.Problem{
			Severity: fleet.SeverityError, Kind: fleet.KindClockSetBack,
			Message: fmt.Sprintf("the server's clock was set back: soaks, windows and timeouts stand still until %s, the latest time in the ledger", clock(until)),
			Hint:    "correct the server's clock; if it is the ledger that is wrong, restore a backup from before, or accept an empty ledger: kalypso ledger accept",
		})
		o.wake(r.clock.Add(clockTolerance))
	}
	for _, at := range r.again {
		o.wake(at)
	}
	for _, d := range r.lanes[0].decisions {
		s := r.standing(d)
		for _, ring := range r.rings(d.Environment).decisions {
			s.Rings = append(s.Rings, r.ringStanding(ring))
			o.wake(ring.Next)
		}
		o.Environments = append(o.Environments, s)
		o.wake(s.Next)
	}
	return o
}

// wake records a time at which another round may be needed.
func (o *Outcome) wake(at time.Time) {
	if !at.IsZero() && (o.Next.IsZero() || at.Before(o.Next)) {
		o.Next = at
	}
}

// standing returns the state of one environment.
func (r *round) standing(d decide.Decision) Standing {
	place, e := r.place(d.Environment), r.environment(d.Environment)
	s := Standing{
		Environment: d.Environment, Phase: d.State, Commit: d.Commit, Head: place.Head, Authors: r.lanes[0].facts.Authors[d.Commit], Candidate: d.Candidate,
		Behind: r.behind(d.Commit), Reason: d.Reason, Since: r.since(d), Next: d.Next, Rules: r.rules(d.Environment),
		GitOps: GitOps{place.GitOps.Repository, place.GitOps.Ref, place.GitOps.Path}, Rollout: place.Rollout, Verdict: e.Verdict, Checks: d.Checks, Proposals: place.Proposals,
		Pause: e.Pause, Request: d.Request, Aborts: e.Aborts, Rollbacks: e.Rollbacks, Targets: d.Targets,
		To: goesTo(d),
	}
	if rules, ok := r.reading.Chain.Rules(d.Environment); ok {
		s.After = rules.After
	}
	if until := r.standsStill(); !until.IsZero() {
		s.Reason += fmt.Sprintf("; soaks, windows and timeouts stand still until %s, because the server's clock was set back", clock(until))
	}
	if place.Follows && place.Unknown == "" {
		s.Reason += "; it names no commit and follows the branch until it does"
	}
	if page := r.journal.page(d.Environment); page.edited != "" && page.edited == d.Commit && page.entered() == d.Commit {
		s.Reason += "; " + editedByHand
	}
	for _, a := range d.Actions {
		s.Actions = append(s.Actions, a.String())
	}
	return s
}

// clock formats a time.
func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// behind returns the number of newer commits on the line.
func (r *round) behind(commit string) int {
	line := r.lanes[0].facts.Line
	if i := slices.Index(line, commit); i >= 0 {
		return len(line) - 1 - i
	}
	return len(line)
}

// since returns when the phase of a commit began: the time of the recorded decision, or now.
func (r *round) since(d decide.Decision) time.Time {
	last := r.journal.page(d.Environment).decided
	if last.Phase == d.State && last.commit == about(d) && !last.Since.IsZero() {
		return last.Since
	}
	return r.at
}

// rules returns the rules of an environment as defined.
func (r *round) rules(environment string) *v1alpha1.Promotion {
	for _, s := range r.reading.Stages {
		if s.Name == environment {
			return s.Promotion
		}
	}
	return nil
}

// did records what was done.
func (r *round) did(what string) { r.outcome.Did = append(r.outcome.Did, what) }

// joinIn adds the error of an environment.
func joinIn(environment string, failed, err error) error {
	return errors.Join(failed, fmt.Errorf("environment %q: %w", environment, err))
}
