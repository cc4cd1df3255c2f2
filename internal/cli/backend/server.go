package backend

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// ServerQuerier implements [Querier] with the API of a server. Paths and parameters are described in its OpenAPI document.
type ServerQuerier struct{ Client *client.Client }

// ask requests a value from a server.
func ask[T any](ctx context.Context, s ServerQuerier, path string, question any) (T, error) {
	answer, err := client.Ask[T](ctx, s.Client, path, question)
	return answer, Hint(err)
}

// Environments lists environments.
func (s ServerQuerier) Environments(ctx context.Context, q query.EnvironmentsQuery) (query.Page[query.Environment], error) {
	return ask[query.Page[query.Environment]](ctx, s, "environments", q)
}

// Environment returns one environment.
func (s ServerQuerier) Environment(ctx context.Context, q query.EnvironmentQuery) (query.EnvironmentDetail, error) {
	return ask[query.EnvironmentDetail](ctx, s, "environments/{name}", q)
}

// Progress returns how far a commit is.
func (s ServerQuerier) Progress(ctx context.Context, q query.ProgressQuery) (query.Progress, error) {
	if q.Application != "" {
		application := query.ApplicationQuery{Name: q.Application, Subject: q.Subject}
		return ask[query.Progress](ctx, s, "applications/{name}/progress",
			api.ApplicationProgressQuery{ApplicationQuery: application, Environment: q.Environment, Commit: q.Commit})
	}
	environment := api.EnvironmentPath{Name: q.Environment, ControlPlane: q.ControlPlane}
	return ask[query.Progress](ctx, s, "environments/{name}/progress", api.ProgressQuery{EnvironmentPath: environment, Ring: q.Ring, Commit: q.Commit})
}

// Compare compares two environments.
func (s ServerQuerier) Compare(ctx context.Context, q query.CompareQuery) (query.Comparison, error) {
	return ask[query.Comparison](ctx, s, "compare/{a}/{b}", q)
}

// Discrepancies lists clusters that do not run what they should. The API has those of workloads only with each workload.
func (s ServerQuerier) Discrepancies(ctx context.Context, q query.DiscrepanciesQuery) (none query.Page[query.Discrepancy], err error) {
	if q.Workload != "" {
		return none, cli.Failed(errors.New("a server does not list the discrepancies of one workload"), "ask for the clusters of the environment, or for the versions of the workload")
	}
	return ask[query.Page[query.Discrepancy]](ctx, s, "discrepancies", q)
}

// Promotion returns the promotion of a commit.
func (s ServerQuerier) Promotion(ctx context.Context, q query.PromotionQuery) (query.PromotionDetail, error) {
	return ask[query.PromotionDetail](ctx, s, "promotions/{commit}", q)
}

// Figures returns the four figures.
func (s ServerQuerier) Figures(ctx context.Context, q query.FiguresQuery) (query.Figures, error) {
	return ask[query.Figures](ctx, s, "figures", q)
}

// Applications lists applications.
func (s ServerQuerier) Applications(ctx context.Context, q query.ApplicationsQuery) (query.Page[query.Application], error) {
	return ask[query.Page[query.Application]](ctx, s, "applications", q)
}

// Application returns one application.
func (s ServerQuerier) Application(ctx context.Context, q query.ApplicationQuery) (query.ApplicationDetail, error) {
	return ask[query.ApplicationDetail](ctx, s, "applications/{name}", q)
}

// Missing lists the required values that targets lack.
func (s ServerQuerier) Missing(ctx context.Context, q query.MissingQuery) (query.Page[query.MissingValue], error) {
	return ask[query.Page[query.MissingValue]](ctx, s, "missing-values", q)
}

// Revisions returns the revisions of a target.
func (s ServerQuerier) Revisions(ctx context.Context, q query.RevisionsQuery) (query.TargetRevisions, error) {
	return ask[query.TargetRevisions](ctx, s, "applications/{name}/environments/{environment}/targets/{target}/revisions", q)
}

// SolutionVersions returns the versions of an application in an environment.
func (s ServerQuerier) SolutionVersions(ctx context.Context, q query.SolutionVersionsQuery) (deliver.EnvironmentPast, error) {
	return ask[deliver.EnvironmentPast](ctx, s, "applications/{name}/environments/{environment}/versions", q)
}

// Targets lists targets.
func (s ServerQuerier) Targets(ctx context.Context, q query.TargetsQuery) (query.Page[query.Target], error) {
	return ask[query.Page[query.Target]](ctx, s, "targets", q)
}

// Clusters lists clusters.
func (s ServerQuerier) Clusters(ctx context.Context, q query.ClustersQuery) (query.Page[query.Cluster], error) {
	wanted := api.ClustersQuery{ClustersQuery: q}
	for _, key := range slices.Sorted(maps.Keys(q.Labels)) {
		wanted.Label = append(wanted.Label, key+"="+q.Labels[key])
	}
	return ask[query.Page[query.Cluster]](ctx, s, "clusters", wanted)
}

// Cluster returns one cluster.
func (s ServerQuerier) Cluster(ctx context.Context, q query.ClusterQuery) (query.ClusterDetail, error) {
	return ask[query.ClusterDetail](ctx, s, "clusters/{name}", q)
}

// History lists events.
func (s ServerQuerier) History(ctx context.Context, q query.HistoryQuery) (query.Page[query.Event], error) {
	return ask[query.Page[query.Event]](ctx, s, "history", q)
}

// Versions lists versions.
func (s ServerQuerier) Versions(ctx context.Context, q query.VersionsQuery) (query.Page[query.Version], error) {
	return ask[query.Page[query.Version]](ctx, s, "versions", q)
}

// fallbackInterval is how often to ask a server that sends no events: a stream can break without notice.
const fallbackInterval = 10 * time.Second

// changes receives a value for events of the server, and when the server begins to send them: what changed since the caller has asked last is
// not among the events. Events that arrive before the value is received are one.
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
		for _, err := range s.Client.Events(ctx, "events", nil, notify) {
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
