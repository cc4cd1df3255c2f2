package query

import (
	"context"
	"slices"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/text/repourl"
)

// applications returns the fleet's applications; none without a fleet. They are shared, and must not be modified.
func (o *Observer) applications() []*Application {
	if o.Fleet == nil {
		return nil
	}
	var all []*Application
	for _, cp := range o.Fleet.ControlPlanes() {
		all = append(all, cp.Applications...)
	}
	return all
}

// Applications returns applications by name. It leaves out those that only the ledger knows; see
// [Observer.Promotions].
func (o *Observer) Applications(_ context.Context, q ApplicationsQuery) (Page[Application], error) {
	items := []Application{}
	for _, a := range o.applications() {
		if q.wants(a) {
			items = append(items, a.summary())
		}
	}
	return cut(items, q.Paging, func(a *Application) string { return names(a.Name, a.Subject, a.ControlPlane) })
}

// wants reports whether q selects an application.
func (q ApplicationsQuery) wants(a *Application) bool {
	if q.Name != "" && q.Name != a.Name || q.Workspace != "" && q.Workspace != a.Workspace ||
		q.ControlPlane != "" && !repourl.Same(q.ControlPlane, a.ControlPlane) {
		return false
	}
	return q.Environment == "" && q.Phase == "" || slices.ContainsFunc(a.Environments, func(e ApplicationEnvironment) bool {
		return (q.Environment == "" || q.Environment == e.Environment) && (q.Phase == "" || q.Phase == e.Phase)
	})
}

// summary returns the application without the fields that are only set in the answer about one application.
func (a *Application) summary() Application {
	summary := *a
	summary.ProblemList = nil
	summary.Environments = slices.Clone(a.Environments)
	for i := range summary.Environments {
		summary.Environments[i].Detail = nil
	}
	return summary
}

// deliveredAs returns the applications that deliver a workload.
func (o *Observer) deliveredAs(workload string) []Application {
	found := []Application{}
	for _, a := range o.applications() {
		if a.Name == workload {
			found = append(found, a.summary())
		}
	}
	return found
}

// Application returns one application with all details.
func (o *Observer) Application(ctx context.Context, q ApplicationQuery) (ApplicationDetail, error) {
	a, err := o.application(q)
	if err != nil {
		return ApplicationDetail{}, err
	}
	d := ApplicationDetail{Application: *a}
	d.Environments = slices.Clone(a.Environments)
	for i := range d.Environments {
		e := &d.Environments[i]
		detail := e.detail()
		e.Detail = &detail
		steps, err := o.Ledger.Steps(ctx, ledger.StepQuery{Subject: a.Subject, Environment: e.Environment, Limit: lastEvents})
		detail.Steps = append([]ledger.Step{}, steps...)
		if err != nil {
			return ApplicationDetail{}, err
		}
	}
	history, err := o.History(ctx, HistoryQuery{Workload: a.Name, Paging: Paging{Limit: lastEvents}})
	d.History = history.Items
	return d, err
}

// application returns the application that q identifies.
func (o *Observer) application(q ApplicationQuery) (*Application, error) {
	var found []*Application
	var names []string
	for _, a := range o.applications() {
		names = append(names, a.Name)
		if a.Name == q.Name && (q.Subject == "" || ledger.CleanSubject(q.Subject) == a.Subject) {
			found = append(found, a)
		}
	}
	switch len(found) {
	case 0:
		return nil, Unknown("application", q.Name, names)
	case 1:
		return found[0], nil
	}
	return nil, severalApplications(q.Name, found[0].Subject, found[1].Subject)
}

// GoodBuilds returns the builds to which an application can be rolled back in an environment, the latest first.
func (o *Observer) GoodBuilds(ctx context.Context, a *Application, environment string) ([]deliver.Build, error) {
	steps, err := o.Ledger.Steps(ctx, ledger.StepQuery{Subject: a.Subject, Environment: environment})
	if err != nil {
		return nil, err
	}
	e := a.environment(environment)
	if e == nil {
		return nil, nil
	}
	var builds []deliver.Build
	for _, commit := range goodOf(e.Targets) {
		b, ok := deliver.PublishedBuild(steps, commit)
		if !ok {
			b = deliver.Build{Commit: commit}
		}
		builds = append(builds, b)
	}
	return builds, nil
}
