package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
)

// applicationProgress returns the progress of a commit of an application's source: from the server's last round if a
// server delivers the application, else from the ledger.
func (o *Observer) applicationProgress(ctx context.Context, q ProgressQuery) (Progress, error) {
	if q.Environment == "" {
		return Progress{}, fmt.Errorf("%w: environment is required", ledger.ErrInvalid)
	}
	a, err := o.application(ApplicationQuery{Name: q.Application, Subject: q.Subject})
	var none *UnknownError
	switch {
	case errors.As(err, &none):
		return o.recordedProgress(ctx, q)
	case err != nil:
		return Progress{}, err
	}
	e := a.environment(q.Environment)
	if e == nil {
		return Progress{}, Unknown("environment", q.Environment, a.chain())
	}
	after := map[string][]string{}
	for _, other := range a.Environments {
		after[other.Environment] = other.After
	}
	p, err := o.progress(ctx, &progressFinder{
		o: o, s: standing{name: q.Environment, application: a.Subject, line: a.Line}, e: e.summary(),
		first: earlier(a.chain(), after, q.Environment),
	}, q.Commit)
	if e.Build != nil && p.Commit == e.Build.Commit {
		p.Gate = e.Gate
	}
	return p, err
}

// chain returns the names of the environments, in promotion order.
func (a *Application) chain() []string {
	var names []string
	for _, e := range a.Environments {
		names = append(names, e.Environment)
	}
	return names
}

// summary returns what a progressFinder needs of an environment.
func (e *ApplicationEnvironment) summary() Environment {
	summary := Environment{Name: e.Environment, Phase: e.Phase, Reason: e.Reason}
	if e.Build != nil {
		summary.Commit = e.Build.Commit
	}
	if e.Candidate != nil {
		summary.Candidate = e.Candidate.Commit
	}
	return summary
}

// recordedProgress returns the progress of an application that CI delivers. The ledger has its steps, but neither its
// chain nor its source.
func (o *Observer) recordedProgress(ctx context.Context, q ProgressQuery) (Progress, error) {
	subject, err := o.recordedSubject(ctx, q)
	if err != nil {
		return Progress{}, err
	}
	names, err := o.recordedEnvironments(ctx)
	if err != nil {
		return Progress{}, err
	}
	if !slices.Contains(names, q.Environment) {
		return Progress{}, Unknown("environment", q.Environment, names)
	}
	s := standing{name: q.Environment, application: subject}
	e := Environment{Name: q.Environment}
	if err := o.addRecorded(ctx, &e, &s, time.Time{}); err != nil {
		return Progress{}, err
	}
	return o.progress(ctx, &progressFinder{o: o, s: s, e: e}, q.Commit)
}

// recordedSubject returns the subject of the only recorded application called q.Workload.
func (o *Observer) recordedSubject(ctx context.Context, q ProgressQuery) (string, error) {
	last, err := o.Ledger.Promotions(ctx, ledger.StepQuery{})
	if err != nil {
		return "", err
	}
	var found, names []string
	for _, a := range o.applications() {
		names = append(names, a.Name)
	}
	for _, s := range last {
		_, workload := ledger.SplitSubject(s.Subject)
		if workload != "" {
			names = append(names, workload)
		}
		if workload == q.Application && !slices.Contains(found, s.Subject) && (q.Subject == "" || ledger.CleanSubject(q.Subject) == s.Subject) {
			found = append(found, s.Subject)
		}
	}
	slices.Sort(found)
	switch len(found) {
	case 0:
		return "", Unknown("application", q.Application, names)
	case 1:
		return found[0], nil
	}
	return "", severalApplications(q.Application, found[0], found[1])
}

// severalApplications returns the error for an ambiguous application name.
func severalApplications(name, one, other string) error {
	return fmt.Errorf("%w: %q and %q both are an application %q; say which subject is meant", ledger.ErrInvalid, one, other, name)
}

// wholeOfSource returns the full hash for an abbreviated commit of an application's source.
func (o *Observer) wholeOfSource(ctx context.Context, s standing, commit string) (string, error) {
	last, err := o.Ledger.Promotions(ctx, ledger.StepQuery{Subject: s.application})
	if err != nil {
		return "", err
	}
	var names []string
	for _, step := range last {
		names = append(names, step.Commit)
	}
	for _, c := range s.line {
		names = append(names, c.SHA)
	}
	found := map[ledger.PromotionID]bool{}
	for _, sha := range names {
		if sha != promote.EveryCommit && len(commit) >= shortest && strings.HasPrefix(sha, commit) {
			found[ledger.PromotionID{Subject: s.application, Commit: sha}] = true
		}
	}
	id, err := theOne(found, commit, names)
	return id.Commit, err
}
