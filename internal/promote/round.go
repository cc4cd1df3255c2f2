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

// round is one round in progress.
type round struct {
	*Promoter
	pipeline  Pipeline
	reading   *Reading
	journal   *journal
	at        time.Time
	facts     decide.Facts
	decisions []decide.Decision
	outcome   *Outcome
}

// gather puts the facts together. An environment of which something cannot be known is unknown, and the error says why.
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
			e.Checks = r.checks.mark(e.Checks, r.reading.Subject, place)
		}
		r.facts.Environments = append(r.facts.Environments, e)
	}
	return failed
}

// place returns what Git and the forge say about an environment.
func (r *round) place(environment string) Place {
	if i := slices.IndexFunc(r.reading.Places, func(p Place) bool { return p.Environment == environment }); i >= 0 {
		return r.reading.Places[i]
	}
	return Place{Environment: environment}
}

func (r *round) environment(name string) decide.Environment {
	if i := slices.IndexFunc(r.facts.Environments, func(e decide.Environment) bool { return e.Name == name }); i >= 0 {
		return r.facts.Environments[i]
	}
	return decide.Environment{Name: name}
}

// describe says how everything stands.
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

// wake notes a time at which there may be something to do.
func (o *Outcome) wake(at time.Time) {
	if !at.IsZero() && (o.Next.IsZero() || at.Before(o.Next)) {
		o.Next = at
	}
}

// standing says how one environment stands.
func (r *round) standing(d decide.Decision) Standing {
	place, e := r.place(d.Environment), r.environment(d.Environment)
	s := Standing{
		Environment: d.Environment, Phase: d.Phase, Commit: d.Commit, Head: place.Head, Candidate: d.Candidate,
		Behind: r.behind(d.Commit), Reason: d.Reason, Since: r.since(d), Next: d.Next, Rules: r.rules(d.Environment),
		GitOps: GitOps{place.GitOps.Repository, place.GitOps.Ref, place.GitOps.Path}, Rollout: place.Rollout, Verdict: e.Verdict, Checks: e.Checks, Proposals: place.Proposals,
		Pause: e.Pause, Order: e.Order, Aborts: e.Aborts,
	}
	if rules, ok := r.reading.Chain.Rules(d.Environment); ok {
		s.After = rules.After
	}
	if place.Follows && place.Unknown == "" {
		s.Reason += "; it names no commit and follows the branch until it does"
	}
	for _, a := range d.Actions {
		s.Actions = append(s.Actions, a.String())
	}
	return s
}

// behind counts the commits of the line that are newer.
func (r *round) behind(commit string) int {
	if i := slices.Index(r.facts.Line, commit); i >= 0 {
		return len(r.facts.Line) - 1 - i
	}
	return len(r.facts.Line)
}

// since is when the phase of a commit began: that of the decision on record, or now.
func (r *round) since(d decide.Decision) time.Time {
	last := r.journal.page(d.Environment).decided
	if last.Phase == d.Phase && last.commit == about(d) && !last.Since.IsZero() {
		return last.Since
	}
	return r.at
}

// rules are those that are written for an environment.
func (r *round) rules(environment string) *v1alpha1.Promotion {
	for _, s := range r.reading.Stages {
		if s.Name == environment {
			return s.Promotion
		}
	}
	return nil
}

// joinIn adds an error of one environment.
func joinIn(environment string, failed, err error) error {
	return errors.Join(failed, fmt.Errorf("environment %q: %w", environment, err))
}
