package backend

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// ServerQuerier implements [Querier] with the API of a server. Paths and parameters are described in its OpenAPI document.
type ServerQuerier struct{ Client *client.Client }

// get requests a value from a server.
func get[T any](ctx context.Context, c *client.Client, path string, query url.Values) (T, error) {
	var out T
	err := c.Get(ctx, path, query, &out)
	return out, Hint(err)
}

// Environments lists environments.
func (s ServerQuerier) Environments(ctx context.Context, q query.EnvironmentsQuery) (query.Page[query.Environment], error) {
	return get[query.Page[query.Environment]](ctx, s.Client, "environments", pageParameters(q.Paging).text("controlPlane", q.ControlPlane).values)
}

// Environment returns one environment.
func (s ServerQuerier) Environment(ctx context.Context, q query.EnvironmentQuery) (query.EnvironmentDetail, error) {
	return get[query.EnvironmentDetail](ctx, s.Client, client.Path("environments", q.Name),
		newParameters().text("controlPlane", q.ControlPlane).text("cluster", q.Cluster).time("asOf", q.AsOf).values)
}

// Progress returns how far a commit is.
func (s ServerQuerier) Progress(ctx context.Context, q query.ProgressQuery) (query.Progress, error) {
	if q.Application != "" {
		return get[query.Progress](ctx, s.Client, client.Path("applications", q.Application, "progress"),
			newParameters().text("environment", q.Environment).text("subject", q.Subject).text("commit", q.Commit).values)
	}
	return get[query.Progress](ctx, s.Client, client.Path("environments", q.Environment, "progress"),
		newParameters().text("controlPlane", q.ControlPlane).text("ring", q.Ring).text("commit", q.Commit).values)
}

// Compare compares two environments.
func (s ServerQuerier) Compare(ctx context.Context, q query.CompareQuery) (query.Comparison, error) {
	return get[query.Comparison](ctx, s.Client, client.Path("compare", q.A, q.B), newParameters().time("asOf", q.AsOf).time("bAsOf", q.BAsOf).values)
}

// Discrepancies lists clusters that do not run what they should. The API has those of workloads only with each workload.
func (s ServerQuerier) Discrepancies(ctx context.Context, q query.DiscrepanciesQuery) (none query.Page[query.Discrepancy], err error) {
	if q.Workload != "" {
		return none, cli.Failed(errors.New("a server does not list the discrepancies of one workload"), "ask for the clusters of the environment, or for the versions of the workload")
	}
	p := pageParameters(q.Paging).text("environment", q.Environment).text("cluster", q.Cluster).text("clusterType", q.ClusterType).
		text("state", string(q.State)).time("asOf", q.AsOf)
	return get[query.Page[query.Discrepancy]](ctx, s.Client, "discrepancies", p.values)
}

// Promotion returns the promotion of a commit.
func (s ServerQuerier) Promotion(ctx context.Context, q query.PromotionQuery) (query.PromotionDetail, error) {
	return get[query.PromotionDetail](ctx, s.Client, client.Path("promotions", q.Commit), newParameters().text("subject", q.Subject).values)
}

// Figures returns the four figures.
func (s ServerQuerier) Figures(ctx context.Context, q query.FiguresQuery) (query.Figures, error) {
	p := newParameters().text("environment", q.Environment).text("workload", q.Workload).text("workspace", q.Workspace).time("from", q.From).time("to", q.To)
	if q.ByTeam {
		p.values.Set("byTeam", "true")
	}
	return get[query.Figures](ctx, s.Client, "figures", p.values)
}

// Applications lists applications.
func (s ServerQuerier) Applications(ctx context.Context, q query.ApplicationsQuery) (query.Page[query.Application], error) {
	p := pageParameters(q.Paging).text("name", q.Name).text("workspace", q.Workspace).text("controlPlane", q.ControlPlane).
		text("environment", q.Environment).text("phase", string(q.Phase))
	return get[query.Page[query.Application]](ctx, s.Client, "applications", p.values)
}

// Application returns one application.
func (s ServerQuerier) Application(ctx context.Context, q query.ApplicationQuery) (query.ApplicationDetail, error) {
	return get[query.ApplicationDetail](ctx, s.Client, client.Path("applications", q.Name), newParameters().text("subject", q.Subject).values)
}

// Missing lists the required values that targets lack.
func (s ServerQuerier) Missing(ctx context.Context, q query.MissingQuery) (query.Page[query.MissingValue], error) {
	p := pageParameters(q.Paging).text("environment", q.Environment).text("controlPlane", q.ControlPlane).text("application", q.Application).text("target", q.Target)
	return get[query.Page[query.MissingValue]](ctx, s.Client, "missing-values", p.values)
}

// Revisions returns the revisions of a target.
func (s ServerQuerier) Revisions(ctx context.Context, q query.RevisionsQuery) (query.TargetRevisions, error) {
	return get[query.TargetRevisions](ctx, s.Client, client.Path("applications", q.Name, "environments", q.Environment, "targets", q.Target, "revisions"),
		pageParameters(query.Paging{Limit: q.Limit}).text("subject", q.Subject).values)
}

// SolutionVersions returns the versions of an application in an environment.
func (s ServerQuerier) SolutionVersions(ctx context.Context, q query.SolutionVersionsQuery) (deliver.EnvironmentPast, error) {
	return get[deliver.EnvironmentPast](ctx, s.Client, client.Path("applications", q.Name, "environments", q.Environment, "versions"),
		pageParameters(query.Paging{Limit: q.Limit}).text("subject", q.Subject).values)
}

// Targets lists targets.
func (s ServerQuerier) Targets(ctx context.Context, q query.TargetsQuery) (query.Page[query.Target], error) {
	p := pageParameters(q.Paging).text("environment", q.Environment).text("workload", q.Workload).text("workspace", q.Workspace).text("clusterType", q.ClusterType)
	return get[query.Page[query.Target]](ctx, s.Client, "targets", p.values)
}

// Clusters lists clusters.
func (s ServerQuerier) Clusters(ctx context.Context, q query.ClustersQuery) (query.Page[query.Cluster], error) {
	p := pageParameters(q.Paging).text("environment", q.Environment).text("clusterType", q.ClusterType).text("state", string(q.State)).time("asOf", q.AsOf)
	for _, key := range slices.Sorted(maps.Keys(q.Labels)) {
		p.values.Add("label", key+"="+q.Labels[key])
	}
	return get[query.Page[query.Cluster]](ctx, s.Client, "clusters", p.values)
}

// Cluster returns one cluster.
func (s ServerQuerier) Cluster(ctx context.Context, q query.ClusterQuery) (query.ClusterDetail, error) {
	return get[query.ClusterDetail](ctx, s.Client, client.Path("clusters", q.Name), newParameters().time("asOf", q.AsOf).values)
}

// History lists events.
func (s ServerQuerier) History(ctx context.Context, q query.HistoryQuery) (query.Page[query.Event], error) {
	p := pageParameters(q.Paging).text("environment", q.Environment).text("ring", q.Ring).text("workload", q.Workload).text("target", q.Target).text("cluster", q.Cluster).time("from", q.From).time("to", q.To)
	return get[query.Page[query.Event]](ctx, s.Client, "history", p.values)
}

// Versions lists versions.
func (s ServerQuerier) Versions(ctx context.Context, q query.VersionsQuery) (query.Page[query.Version], error) {
	p := pageParameters(q.Paging).text("environment", q.Environment).text("workload", q.Workload).text("workspace", q.Workspace).time("asOf", q.AsOf)
	return get[query.Page[query.Version]](ctx, s.Client, "versions", p.values)
}

// fallbackInterval is how often to ask a server that sends no events: a stream can break without notice.
const fallbackInterval = 10 * time.Second

// changes receives a value for events of the server. Events that arrive before the value is received are one.
func (s ServerQuerier) changes(ctx context.Context) <-chan struct{} {
	changed := make(chan struct{}, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	var sources sync.WaitGroup
	sources.Go(func() {
		for _, err := range s.Client.Events(ctx, "events", nil) {
			if err != nil {
				return // the next request returns the error
			}
			notify()
		}
	})
	sources.Go(func() {
		for range Ticks(fallbackInterval)(ctx) {
			notify()
		}
	})
	go func() {
		sources.Wait()
		close(changed)
	}()
	return changed
}

// parameters are query parameters. Empty ones are omitted.
type parameters struct{ values url.Values }

func newParameters() parameters { return parameters{url.Values{}} }

func pageParameters(p query.Paging) parameters {
	q := newParameters().text("after", p.After)
	if p.Limit > 0 {
		q.values.Set("limit", strconv.Itoa(p.Limit))
	}
	return q
}

func (p parameters) text(name, value string) parameters {
	if value != "" {
		p.values.Set(name, value)
	}
	return p
}

func (p parameters) time(name string, at time.Time) parameters {
	if !at.IsZero() {
		p.values.Set(name, at.UTC().Format(time.RFC3339Nano))
	}
	return p
}
