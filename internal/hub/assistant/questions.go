package assistant

import (
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

// page is how many items a page has unless the assistant wants more.
const page = 20

// pageInput selects a page.
type pageInput struct {
	After string `json:"after,omitempty" jsonschema:"the field next of the previous page"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many items, at most 100; 20 by default"`
}

func (p pageInput) paging() query.Paging {
	limit := p.Limit
	if limit <= 0 {
		limit = page
	}
	return query.Paging{After: p.After, Limit: min(limit, 100)}
}

// timeInput is a time as RFC 3339.
type timeInput string

func (t timeInput) time() (time.Time, error) {
	if t == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, string(t))
	if err != nil {
		return at, errors.New("a time is like 2026-11-17T10:00:00Z: " + err.Error())
	}
	return at, nil
}

type environmentsInput struct {
	ControlPlane string `json:"controlPlane,omitempty" jsonschema:"only environments of the control plane with this URL"`
	pageInput
}

type environmentInput struct {
	Environment  string    `json:"environment" jsonschema:"name of the environment, such as prod"`
	ControlPlane string    `json:"controlPlane,omitempty" jsonschema:"URL of the control plane; needed only if several have an environment of this name"`
	AsOf         timeInput `json:"asOf,omitempty" jsonschema:"the environment at this time, such as 2026-11-17T10:00:00Z; now by default"`
}

type discrepanciesInput struct {
	Environment string    `json:"environment,omitempty" jsonschema:"only in this environment"`
	Cluster     string    `json:"cluster,omitempty" jsonschema:"only of this cluster"`
	ClusterType string    `json:"clusterType,omitempty" jsonschema:"only of this cluster type"`
	State       string    `json:"state,omitempty" jsonschema:"only in this state: behind, failed, offline or missing"`
	AsOf        timeInput `json:"asOf,omitempty" jsonschema:"at this time; now by default"`
	pageInput
}

type progressInput struct {
	Environment  string `json:"environment" jsonschema:"name of the environment"`
	ControlPlane string `json:"controlPlane,omitempty" jsonschema:"URL of the control plane; needed only if several have an environment of this name"`
	Ring         string `json:"ring,omitempty" jsonschema:"a ring of the environment"`
	Application  string `json:"application,omitempty" jsonschema:"a workload, for a commit of its source instead of one of the control plane"`
	Commit       string `json:"commit,omitempty" jsonschema:"hash, or at least seven digits of it; the environment's commit by default"`
}

type promotionInput struct {
	Commit string `json:"commit" jsonschema:"hash, or at least seven digits of it"`
}

type clustersInput struct {
	Environment string    `json:"environment,omitempty" jsonschema:"only clusters of this environment"`
	ClusterType string    `json:"clusterType,omitempty" jsonschema:"only clusters of this cluster type"`
	State       string    `json:"state,omitempty" jsonschema:"only in this state: reached, behind, failed, offline or missing"`
	AsOf        timeInput `json:"asOf,omitempty" jsonschema:"at this time; now by default"`
	pageInput
}

type clusterInput struct {
	Cluster string    `json:"cluster" jsonschema:"name of the cluster"`
	AsOf    timeInput `json:"asOf,omitempty" jsonschema:"at this time; now by default"`
}

type applicationInput struct {
	Application string `json:"application" jsonschema:"name of the workload"`
}

type versionsInput struct {
	Environment string    `json:"environment,omitempty" jsonschema:"only in this environment"`
	Workload    string    `json:"workload,omitempty" jsonschema:"only of this workload"`
	AsOf        timeInput `json:"asOf,omitempty" jsonschema:"at this time; now by default"`
	pageInput
}

type historyInput struct {
	Environment string    `json:"environment,omitempty" jsonschema:"events of this environment"`
	Ring        string    `json:"ring,omitempty" jsonschema:"only of this ring of the environment"`
	Workload    string    `json:"workload,omitempty" jsonschema:"events of this workload; can be combined with an environment"`
	Cluster     string    `json:"cluster,omitempty" jsonschema:"events of this cluster"`
	From        timeInput `json:"from,omitempty" jsonschema:"only events at this time or later"`
	To          timeInput `json:"to,omitempty" jsonschema:"only events before this time"`
	pageInput
}

type compareInput struct {
	A    string    `json:"a" jsonschema:"one environment"`
	B    string    `json:"b" jsonschema:"the other environment"`
	AsOf timeInput `json:"asOf,omitempty" jsonschema:"both at this time; now by default"`
}

type figuresInput struct {
	Environment string    `json:"environment,omitempty" jsonschema:"only deployments to this environment"`
	Workload    string    `json:"workload,omitempty" jsonschema:"only deployments of this workload"`
	From        timeInput `json:"from,omitempty" jsonschema:"start of the period; 30 days before its end by default"`
	To          timeInput `json:"to,omitempty" jsonschema:"end of the period; now by default"`
}

// addQuestions adds the queries about the fleet.
func addQuestions(s *mcp.Server, o Questions) {
	addTool(s, "list_environments", "Each environment with its commit, the phase of its promotion, how many clusters run it, and what waits for what and why.",
		func(ctx context.Context, in environmentsInput) (query.Page[query.Environment], error) {
			return o.Environments(ctx, query.EnvironmentsQuery{ControlPlane: in.ControlPlane, Paging: in.paging()})
		})
	addTool(s, "get_environment", "One environment with its plan, problems with file and line, held assignments, cluster types, and the last steps of its promotions.",
		func(ctx context.Context, in environmentInput) (none query.EnvironmentDetail, err error) {
			at, err := in.AsOf.time()
			if err != nil {
				return none, err
			}
			return o.Environment(ctx, query.EnvironmentQuery{Name: in.Environment, ControlPlane: in.ControlPlane, AsOf: at})
		})
	addTool(s, "list_discrepancies", "Clusters that do not run what they should, since when, and the message of their reconciler.",
		func(ctx context.Context, in discrepanciesInput) (none query.Page[query.Discrepancy], err error) {
			at, err := in.AsOf.time()
			if err != nil {
				return none, err
			}
			return o.Discrepancies(ctx, query.DiscrepanciesQuery{
				Environment: in.Environment, Cluster: in.Cluster, ClusterType: in.ClusterType, State: comply.State(in.State), AsOf: at, Paging: in.paging(),
			})
		})
	addTool(s, "get_progress", "Whether a commit passed, failed or waits in an environment, and why.",
		func(ctx context.Context, in progressInput) (query.Progress, error) {
			return o.Progress(ctx, query.ProgressQuery{Environment: in.Environment, ControlPlane: in.ControlPlane, Ring: in.Ring, Application: in.Application, Commit: in.Commit})
		})
	addTool(s, "get_promotion", "The promotion of a commit through all environments, step by step, with reasons and who did it.",
		func(ctx context.Context, in promotionInput) (query.PromotionDetail, error) {
			return o.Promotion(ctx, query.PromotionQuery{Commit: in.Commit})
		})
	addTool(s, "list_clusters", "Clusters, and whether they run what they should.",
		func(ctx context.Context, in clustersInput) (none query.Page[query.Cluster], err error) {
			at, err := in.AsOf.time()
			if err != nil {
				return none, err
			}
			return o.Clusters(ctx, query.ClustersQuery{
				Environment: in.Environment, ClusterType: in.ClusterType, State: comply.State(in.State), AsOf: at, Paging: in.paging(),
			})
		})
	addTool(s, "get_cluster", "One cluster with its memberships, its reconcilers, their revisions and messages.",
		func(ctx context.Context, in clusterInput) (none query.ClusterDetail, err error) {
			at, err := in.AsOf.time()
			if err != nil {
				return none, err
			}
			return o.Cluster(ctx, query.ClusterQuery{Name: in.Cluster, AsOf: at})
		})
	addTool(s, "list_applications", "The applications that a server delivers, with their builds in each environment.",
		func(ctx context.Context, in pageInput) (query.Page[query.Application], error) {
			return o.Applications(ctx, query.ApplicationsQuery{Paging: in.paging()})
		})
	addTool(s, "get_application", "One application with its environments, problems and what they wait for.",
		func(ctx context.Context, in applicationInput) (query.ApplicationDetail, error) {
			return o.Application(ctx, query.ApplicationQuery{Name: in.Application})
		})
	addTool(s, "list_versions", "Which version of each workload runs where, since when.",
		func(ctx context.Context, in versionsInput) (none query.Page[query.Version], err error) {
			at, err := in.AsOf.time()
			if err != nil {
				return none, err
			}
			return o.Versions(ctx, query.VersionsQuery{Environment: in.Environment, Workload: in.Workload, AsOf: at, Paging: in.paging()})
		})
	addTool(s, "list_history", "Events of an environment, a workload or a cluster, newest first: promotions, commits, pull requests, registrations, changes of state.",
		func(ctx context.Context, in historyInput) (none query.Page[query.Event], err error) {
			if in.Environment == "" && in.Workload == "" && in.Cluster == "" {
				return none, errors.New("name an environment, a workload or a cluster")
			}
			from, err := in.From.time()
			if err != nil {
				return none, err
			}
			to, err := in.To.time()
			if err != nil {
				return none, err
			}
			return o.History(ctx, query.HistoryQuery{
				Environment: in.Environment, Ring: in.Ring, Workload: in.Workload, Cluster: in.Cluster, From: from, To: to, Paging: in.paging(),
			})
		})
	addTool(s, "compare", "What differs between two environments: versions and assignments.",
		func(ctx context.Context, in compareInput) (none query.Comparison, err error) {
			at, err := in.AsOf.time()
			if err != nil {
				return none, err
			}
			return o.Compare(ctx, query.CompareQuery{A: in.A, B: in.B, AsOf: at})
		})
	addTool(s, "get_figures", "Deployment frequency, lead time, change failure rate and time to restore.",
		func(ctx context.Context, in figuresInput) (none query.Figures, err error) {
			from, err := in.From.time()
			if err != nil {
				return none, err
			}
			to, err := in.To.time()
			if err != nil {
				return none, err
			}
			return o.Figures(ctx, query.FiguresQuery{Environment: in.Environment, Workload: in.Workload, From: from, To: to})
		})
}
