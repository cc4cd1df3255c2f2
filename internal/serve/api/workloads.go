package api

import (
	"context"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
)

type workloadsInput struct {
	Environment string `query:"environment" maxLength:"253" doc:"Only those with targets in this environment."`
	Workspace   string `query:"workspace" maxLength:"253" doc:"Only those of this workspace."`
	Paging
}

type workloadInput struct {
	Name string `path:"name" maxLength:"253" doc:"The name of the workload."`
}

type targetsInput struct {
	Environment string `query:"environment" maxLength:"253" doc:"Only those of this environment."`
	Workload    string `query:"workload" maxLength:"253" doc:"Only those of this workload."`
	Workspace   string `query:"workspace" maxLength:"253" doc:"Only those of this workspace."`
	ClusterType string `query:"clusterType" maxLength:"253" doc:"Only those that are assigned to this cluster type."`
	Paging
}

type versionsInput struct {
	Environment string    `query:"environment" maxLength:"253" doc:"Only those in this environment."`
	Workload    string    `query:"workload" maxLength:"253" doc:"Only those of this workload."`
	Workspace   string    `query:"workspace" maxLength:"253" doc:"Only those of this workspace."`
	AsOf        time.Time `query:"asOf" doc:"The time of which they are wanted; absent: now."`
	Paging
}

func registerWorkloads(s *service) {
	askList(s, operation{
		id: "list-workloads", path: "/workloads", summary: "Workloads, and which version of each is where",
	}, func(ctx context.Context, in *workloadsInput) (page query.Page[query.Workload], err error) {
		q := query.WorkloadsQuery{Environment: in.Environment, Workspace: in.Workspace}
		if q.Paging, err = in.of(); err != nil {
			return page, err
		}
		return s.Observer.Workloads(ctx, q)
	})
	ask(s, operation{
		id: "get-workload", path: "/workloads/{name}", summary: "One workload across all environments",
	}, func(ctx context.Context, in *workloadInput) (query.WorkloadDetail, error) {
		return s.Observer.Workload(ctx, in.Name)
	})
	askList(s, operation{
		id: "list-targets", path: "/targets", summary: "Targets, with what they should run and what runs",
	}, func(ctx context.Context, in *targetsInput) (page query.Page[query.Target], err error) {
		q := query.TargetsQuery{
			Environment: in.Environment, Workload: in.Workload, Workspace: in.Workspace, ClusterType: in.ClusterType,
		}
		if q.Paging, err = in.of(); err != nil {
			return page, err
		}
		return s.Observer.Targets(ctx, q)
	})
	askList(s, operation{
		id: "list-versions", path: "/versions", summary: "Which version of each workload runs where, now or then",
	}, func(ctx context.Context, in *versionsInput) (page query.Page[query.Version], err error) {
		q := query.VersionsQuery{Environment: in.Environment, Workload: in.Workload, Workspace: in.Workspace, AsOf: in.AsOf}
		if q.Paging, err = in.of(); err != nil {
			return page, err
		}
		return s.Observer.Versions(ctx, q)
	})
}
