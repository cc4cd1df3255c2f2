package promote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// round holds the state of one round.
type round struct {
	*Promoter
	pipeline Pipeline
	reading  *State
	journal  *journal
	// running holds the verifications that were running before the journal was read. One that ends in between counts as running,
	// because its result may be missing from the journal.
	running   map[checkKey]bool
	at        time.Time
	facts     decide.Facts
	decisions []decide.Decision
	outcome   *Outcome
}

// gather collects the facts. An environment with missing facts is unknown, and the error explains why.
func (r *round) gather(ctx context.Context) error {
	var failed error
	clusters := &registry{ledger: r.Ledger}
	r.facts = decide.Facts{Chain: r.reading.Chain}
	for _, c := range r.reading.Line {
		r.facts.Line = append(r.facts.Line, c.SHA)
	}
	for _, place := range r.reading.Places {
		rules, ok := r.reading.Chain.Rules(place.Environment)
		if !ok {
			continue
		}
		page := r.journal.page(place.Environment)
		e := page.environment(place)
		if e.Unknown == "" {
			verdict, err := r.verdict(ctx, clusters, place, rules.Gate, page.published[place.Rollout.Commit], r.at)
			if err != nil {
				e.Unknown = err.Error()
				failed = joinIn(place.Environment, failed, err)
			}
			e.Verdict = verdict
			e.Checks = r.markRunning(e.Checks, place)
		}
		r.facts.Environments = append(r.facts.Environments, e)
	}
	return failed
}

// place returns the state of an environment in Git and on the forge.
func (r *round) place(environment string) EnvironmentState {
	if i := slices.IndexFunc(r.reading.Places, func(p EnvironmentState) bool { return p.Environment == environment }); i >= 0 {
		return r.reading.Places[i]
	}
	return EnvironmentState{Environment: environment}
}

func (r *round) environment(name string) decide.Environment {
	if i := slices.IndexFunc(r.facts.Environments, func(e decide.Environment) bool { return e.Name == name }); i >= 0 {
		return r.facts.Environments[i]
	}
	return decide.Environment{Name: name}
}

// describe returns the outcome.
func (r *round) describe() *Outcome {
	o := &Outcome{
		Subject: r.reading.Subject, At: r.at, Environments: []Standing{},
		Problems: r.reading.Problems, Line: r.reading.Line, Read: r.reading.Read,
	}
	for _, d := range r.decisions {
		s := r.standing(d)
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
		Environment: d.Environment, Phase: d.Phase, Commit: d.Commit, Head: place.Head, Candidate: d.Candidate,
		Behind: r.behind(d.Commit), Reason: d.Reason, Since: r.since(d), Next: d.Next, Rules: r.rules(d.Environment),
		GitOps: GitOps{place.GitOps.Repository, place.GitOps.Ref, place.GitOps.Path}, Rollout: place.Rollout, Verdict: e.Verdict, Checks: e.Checks, Proposals: place.Proposals,
		Pause: e.Pause, Request: e.Request, Aborts: e.Aborts,
	}
	if rules, ok := r.reading.Chain.Rules(d.Environment); ok {
		s.After = rules.After
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

// behind returns the number of newer commits on the line.
func (r *round) behind(commit string) int {
	if i := slices.Index(r.facts.Line, commit); i >= 0 {
		return len(r.facts.Line) - 1 - i
	}
	return len(r.facts.Line)
}

// since returns when the phase of a commit began: the time of the recorded decision, or now.
func (r *round) since(d decide.Decision) time.Time {
	last := r.journal.page(d.Environment).decided
	if last.Phase == d.Phase && last.commit == about(d) && !last.Since.IsZero() {
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
