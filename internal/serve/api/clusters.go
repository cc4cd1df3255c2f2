package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

type clustersInput struct {
	Environment string    `query:"environment" maxLength:"253" doc:"Only those that serve this environment."`
	ClusterType string    `query:"clusterType" maxLength:"253" doc:"Only those that serve as this cluster type."`
	Label       []string  `query:"label,explode" maxItems:"16" maxLength:"400" doc:"Only those with this label, as name=value; may be repeated."`
	State       string    `query:"state" enum:"reached,behind,failed,offline,missing" doc:"Only those that stand so in some membership, or in that of environment."`
	AsOf        time.Time `query:"asOf" doc:"The time of which they are wanted; absent: now."`
	Paging
}

type clusterInput struct {
	Name string    `path:"name" maxLength:"253" doc:"The name of the cluster."`
	AsOf time.Time `query:"asOf" doc:"The time of which it is wanted; absent: now."`
}

type reconcilersInput struct {
	Environment string    `query:"environment" maxLength:"253" doc:"Only those that follow a branch of this environment."`
	Cluster     string    `query:"cluster" maxLength:"253" doc:"Only those of this cluster."`
	Workload    string    `query:"workload" maxLength:"253" doc:"Only those that run this workload."`
	Repository  string    `query:"repository" maxLength:"2048" doc:"Only those that follow this repository."`
	Branch      string    `query:"branch" maxLength:"255" doc:"Only those that follow this branch."`
	State       string    `query:"state" enum:"ready,progressing,suspended,failed" doc:"Only those that are doing so."`
	AsOf        time.Time `query:"asOf" doc:"The time of which the states are wanted; absent: now. Then pages may have fewer items than there is room for."`
	Paging
}

type discrepanciesInput struct {
	Environment string    `query:"environment" maxLength:"253" doc:"Only those in this environment."`
	Cluster     string    `query:"cluster" maxLength:"253" doc:"Only those of this cluster."`
	ClusterType string    `query:"clusterType" maxLength:"253" doc:"Only those of this cluster type."`
	State       string    `query:"state" enum:"behind,failed,offline,missing" doc:"Only those that stand so."`
	AsOf        time.Time `query:"asOf" doc:"The time of which they are wanted; absent: now."`
	Paging
}

func registerClusters(s *service) {
	askList(s, operation{
		id: "list-clusters", path: "/clusters", summary: "Clusters, and whether they run what they should",
	}, func(ctx context.Context, in *clustersInput) (page query.Page[query.Cluster], err error) {
		q := query.ClustersQuery{
			Environment: in.Environment, ClusterType: in.ClusterType, State: comply.State(in.State), AsOf: in.AsOf,
		}
		if q.Labels, err = labels(in.Label); err != nil {
			return page, err
		}
		if q.Paging, err = in.of(); err != nil {
			return page, err
		}
		return s.Observer.Clusters(ctx, q)
	})
	ask(s, operation{
		id: "get-cluster", path: "/clusters/{name}", summary: "Everything about one cluster",
	}, func(ctx context.Context, in *clusterInput) (query.ClusterDetail, error) {
		return s.Observer.Cluster(ctx, query.ClusterQuery{Name: in.Name, AsOf: in.AsOf})
	})
	askList(s, operation{
		id: "list-reconcilers", path: "/reconcilers", summary: "What each reconciler follows, at which revision, in what state",
	}, func(ctx context.Context, in *reconcilersInput) (page query.Page[query.Reconciler], err error) {
		q := query.ReconcilersQuery{
			Environment: in.Environment, Cluster: in.Cluster, Workload: in.Workload, Repository: in.Repository, Branch: in.Branch,
			State: ledger.State(in.State), AsOf: in.AsOf,
		}
		if q.Paging, err = in.of(); err != nil {
			return page, err
		}
		return s.Observer.Reconcilers(ctx, q)
	})
	askList(s, operation{
		id: "list-discrepancies", path: "/discrepancies", summary: "Which clusters differ from what they should run, since when and why",
	}, func(ctx context.Context, in *discrepanciesInput) (page query.Page[query.Discrepancy], err error) {
		q := query.DiscrepanciesQuery{
			Environment: in.Environment, Cluster: in.Cluster, ClusterType: in.ClusterType, State: comply.State(in.State), AsOf: in.AsOf,
		}
		if q.Paging, err = in.of(); err != nil {
			return page, err
		}
		return s.Observer.Discrepancies(ctx, q)
	})
}

// labels reads name=value pairs.
func labels(pairs []string) (map[string]string, error) {
	all := map[string]string{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			p := newProblem(http.StatusUnprocessableEntity, "a label is written name=value", "write it as label=region=eu, and repeat that for more")
			p.Errors = []ProblemPart{{Message: "want name=value", Location: "query.label"}}
			return nil, p
		}
		all[name] = value
	}
	return all, nil
}
