package backend

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// ServerAnswers asks the API of a server. The names of paths and parameters are those of its OpenAPI document.
type ServerAnswers struct{ Client *client.Client }

// Environments implements [FleetAnswers].
func (s ServerAnswers) Environments(ctx context.Context, q query.EnvironmentsQuery) (query.Page[query.Environment], error) {
	return get[query.Page[query.Environment]](ctx, s.Client, "environments", paged(q.Paging).text("controlPlane", q.ControlPlane).values)
}

// Environment implements [pastAnswers].
func (s ServerAnswers) Environment(ctx context.Context, q query.EnvironmentQuery) (query.EnvironmentDetail, error) {
	return get[query.EnvironmentDetail](ctx, s.Client, client.Path("environments", q.Name),
		given().text("controlPlane", q.ControlPlane).time("asOf", q.AsOf).values)
}

// Progress implements [FleetAnswers].
func (s ServerAnswers) Progress(ctx context.Context, q query.ProgressQuery) (query.Progress, error) {
	if q.Application != "" {
		return get[query.Progress](ctx, s.Client, client.Path("applications", q.Application, "progress"),
			given().text("environment", q.Environment).text("subject", q.Subject).text("commit", q.Commit).values)
	}
	return get[query.Progress](ctx, s.Client, client.Path("environments", q.Environment, "progress"),
		given().text("controlPlane", q.ControlPlane).text("commit", q.Commit).values)
}

// Compare implements [FleetAnswers].
func (s ServerAnswers) Compare(ctx context.Context, q query.CompareQuery) (query.Comparison, error) {
	return get[query.Comparison](ctx, s.Client, client.Path("compare", q.A, q.B), given().time("asOf", q.AsOf).values)
}

// Applications implements [applicationAnswers].
func (s ServerAnswers) Applications(ctx context.Context, q query.ApplicationsQuery) (query.Page[query.Application], error) {
	p := paged(q.Paging).text("name", q.Name).text("workspace", q.Workspace).text("controlPlane", q.ControlPlane).
		text("environment", q.Environment).text("phase", string(q.Phase))
	return get[query.Page[query.Application]](ctx, s.Client, "applications", p.values)
}

// Application implements [applicationAnswers].
func (s ServerAnswers) Application(ctx context.Context, q query.ApplicationQuery) (query.ApplicationDetail, error) {
	return get[query.ApplicationDetail](ctx, s.Client, client.Path("applications", q.Name), given().text("subject", q.Subject).values)
}

// Clusters implements [clusterAnswers].
func (s ServerAnswers) Clusters(ctx context.Context, q query.ClustersQuery) (query.Page[query.Cluster], error) {
	p := paged(q.Paging).text("environment", q.Environment).text("clusterType", q.ClusterType).text("state", string(q.State)).time("asOf", q.AsOf)
	for _, key := range slices.Sorted(maps.Keys(q.Labels)) {
		p.values.Add("label", key+"="+q.Labels[key])
	}
	return get[query.Page[query.Cluster]](ctx, s.Client, "clusters", p.values)
}

// Cluster implements [clusterAnswers].
func (s ServerAnswers) Cluster(ctx context.Context, q query.ClusterQuery) (query.ClusterDetail, error) {
	return get[query.ClusterDetail](ctx, s.Client, client.Path("clusters", q.Name), given().time("asOf", q.AsOf).values)
}

// History implements [pastAnswers].
func (s ServerAnswers) History(ctx context.Context, q query.HistoryQuery) (query.Page[query.Event], error) {
	p := paged(q.Paging).text("environment", q.Environment).text("workload", q.Workload).text("cluster", q.Cluster).time("from", q.From).time("to", q.To)
	return get[query.Page[query.Event]](ctx, s.Client, "history", p.values)
}

// Versions implements [pastAnswers].
func (s ServerAnswers) Versions(ctx context.Context, q query.VersionsQuery) (query.Page[query.Version], error) {
	p := paged(q.Paging).text("environment", q.Environment).text("workload", q.Workload).text("workspace", q.Workspace).time("asOf", q.AsOf)
	return get[query.Page[query.Version]](ctx, s.Client, "versions", p.values)
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

func paged(p query.Paging) parameters {
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
