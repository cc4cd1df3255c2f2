package asking

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/client"
	"github.com/kalypso-io/kalypso/internal/observing"
)

// ServerAnswers asks the API of a server. The names of paths and parameters are those of its OpenAPI document.
type ServerAnswers struct{ Client *client.Client }

// Environments implements [FleetAnswers].
func (s ServerAnswers) Environments(ctx context.Context, q observing.EnvironmentsQuery) (observing.Page[observing.Environment], error) {
	return get[observing.Page[observing.Environment]](ctx, s.Client, "environments", paged(q.Paging).text("controlPlane", q.ControlPlane).values)
}

// Environment implements [pastAnswers].
func (s ServerAnswers) Environment(ctx context.Context, q observing.EnvironmentQuery) (observing.EnvironmentDetail, error) {
	return get[observing.EnvironmentDetail](ctx, s.Client, client.Path("environments", q.Name),
		given().text("controlPlane", q.ControlPlane).time("asOf", q.AsOf).values)
}

// Progress implements [FleetAnswers].
func (s ServerAnswers) Progress(ctx context.Context, q observing.ProgressQuery) (observing.Progress, error) {
	if q.Application != "" {
		return get[observing.Progress](ctx, s.Client, client.Path("applications", q.Application, "progress"),
			given().text("environment", q.Environment).text("subject", q.Subject).text("commit", q.Commit).values)
	}
	return get[observing.Progress](ctx, s.Client, client.Path("environments", q.Environment, "progress"),
		given().text("controlPlane", q.ControlPlane).text("commit", q.Commit).values)
}

// Compare implements [FleetAnswers].
func (s ServerAnswers) Compare(ctx context.Context, q observing.CompareQuery) (observing.Comparison, error) {
	return get[observing.Comparison](ctx, s.Client, client.Path("compare", q.A, q.B), given().time("asOf", q.AsOf).values)
}

// Applications implements [applicationAnswers].
func (s ServerAnswers) Applications(ctx context.Context, q observing.ApplicationsQuery) (observing.Page[observing.Application], error) {
	p := paged(q.Paging).text("name", q.Name).text("workspace", q.Workspace).text("controlPlane", q.ControlPlane).
		text("environment", q.Environment).text("phase", string(q.Phase))
	return get[observing.Page[observing.Application]](ctx, s.Client, "applications", p.values)
}

// Application implements [applicationAnswers].
func (s ServerAnswers) Application(ctx context.Context, q observing.ApplicationQuery) (observing.ApplicationDetail, error) {
	return get[observing.ApplicationDetail](ctx, s.Client, client.Path("applications", q.Name), given().text("subject", q.Subject).values)
}

// Clusters implements [clusterAnswers].
func (s ServerAnswers) Clusters(ctx context.Context, q observing.ClustersQuery) (observing.Page[observing.Cluster], error) {
	p := paged(q.Paging).text("environment", q.Environment).text("clusterType", q.ClusterType).text("state", string(q.State)).time("asOf", q.AsOf)
	for _, key := range slices.Sorted(maps.Keys(q.Labels)) {
		p.values.Add("label", key+"="+q.Labels[key])
	}
	return get[observing.Page[observing.Cluster]](ctx, s.Client, "clusters", p.values)
}

// Cluster implements [clusterAnswers].
func (s ServerAnswers) Cluster(ctx context.Context, q observing.ClusterQuery) (observing.ClusterDetail, error) {
	return get[observing.ClusterDetail](ctx, s.Client, client.Path("clusters", q.Name), given().time("asOf", q.AsOf).values)
}

// History implements [pastAnswers].
func (s ServerAnswers) History(ctx context.Context, q observing.HistoryQuery) (observing.Page[observing.Event], error) {
	p := paged(q.Paging).text("environment", q.Environment).text("workload", q.Workload).text("cluster", q.Cluster).time("from", q.From).time("to", q.To)
	return get[observing.Page[observing.Event]](ctx, s.Client, "history", p.values)
}

// Versions implements [pastAnswers].
func (s ServerAnswers) Versions(ctx context.Context, q observing.VersionsQuery) (observing.Page[observing.Version], error) {
	p := paged(q.Paging).text("environment", q.Environment).text("workload", q.Workload).text("workspace", q.Workspace).time("asOf", q.AsOf)
	return get[observing.Page[observing.Version]](ctx, s.Client, "versions", p.values)
}

// seldom is how often a server is asked though it tells of no change: a stream may break without a word.
const seldom = 10 * time.Second

// changes tells of the events of the server. Those that come while nobody listens are one.
func (s ServerAnswers) changes(ctx context.Context) <-chan struct{} {
	told := make(chan struct{}, 1)
	tell := func() {
		select {
		case told <- struct{}{}:
		default:
		}
	}
	var talking sync.WaitGroup
	talking.Go(func() {
		for _, err := range s.Client.Events(ctx, "events", nil) {
			if err != nil {
				return // asking shows what is wrong
			}
			tell()
		}
	})
	talking.Go(func() {
		for range Ticks(seldom)(ctx) {
			tell()
		}
	})
	go func() {
		talking.Wait()
		close(told)
	}()
	return told
}

// parameters are those of a question. What is empty is left out.
type parameters struct{ values url.Values }

func given() parameters { return parameters{url.Values{}} }

func paged(p observing.Paging) parameters {
	q := given().text("after", p.After)
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
