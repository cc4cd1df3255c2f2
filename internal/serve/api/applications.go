package api

import (
	"context"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

type applicationsInput struct {
	Name         string `query:"name" maxLength:"253" doc:"Only those of this workload."`
	Workspace    string `query:"workspace" maxLength:"253" doc:"Only those of this workspace."`
	ControlPlane string `query:"controlPlane" maxLength:"2048" doc:"Only those that this control plane registers."`
	Environment  string `query:"environment" maxLength:"253" doc:"Only those that are delivered to this environment."`
	Phase        string `query:"phase" maxLength:"32" doc:"Only those that stand so in some environment, or in the one that is given."`
	Paging
}

type applicationInput struct {
	Name    string `path:"name" maxLength:"253" doc:"The name of its workload."`
	Subject string `query:"subject" maxLength:"2048" doc:"What the ledger knows it by; needed only where several are of one name."`
}

type applicationProgressInput struct {
	Name        string `path:"name" maxLength:"253" doc:"The name of its workload."`
	Subject     string `query:"subject" maxLength:"2048" doc:"What the ledger knows it by; needed only where several are of one name."`
	Environment string `query:"environment" required:"true" maxLength:"253" doc:"The name of the environment."`
	Commit      string `query:"commit" maxLength:"64" doc:"A commit of the source, or at least seven digits of it; empty for the one that the environment has."`
}

func registerApplications(s *service) {
	askList(s, operation{
		id: "list-applications", path: "/applications", summary: "Applications that the server delivers, and which commit of each is where",
		about: "Those that a control plane registers and whose source has a Delivery: commit, version and image in each environment, gate, open change, problems, and what waits for what.",
	}, func(ctx context.Context, in *applicationsInput) (page query.Page[query.Application], err error) {
		q := query.ApplicationsQuery{
			Name: in.Name, Workspace: in.Workspace, ControlPlane: in.ControlPlane, Environment: in.Environment, Phase: decide.Phase(in.Phase),
		}
		if q.Paging, err = in.of(); err != nil {
			return page, err
		}
		return s.Observer.Applications(ctx, q)
	})
	ask(s, operation{
		id: "get-application", path: "/applications/{name}", summary: "Everything about one application",
	}, func(ctx context.Context, in *applicationInput) (query.ApplicationDetail, error) {
		return s.Observer.Application(ctx, query.ApplicationQuery{Name: in.Name, Subject: in.Subject})
	})
	ask(s, operation{
		id: "get-application-progress", path: "/applications/{name}/progress", summary: "Whether a commit of an application's source passed, failed or waits in an environment",
		about: "What a job asks again and again that waits for its commit; with If-None-Match that costs little. Of applications that CI delivers, it is what CI put on record.",
	}, func(ctx context.Context, in *applicationProgressInput) (query.Progress, error) {
		return s.Observer.Progress(ctx, query.ProgressQuery{
			Application: in.Name, Subject: in.Subject, Environment: in.Environment, Commit: in.Commit,
		})
	})
}
