package api

import (
	"context"
	"net/http"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

type promotionsInput struct {
	Subject     string    `query:"subject" maxLength:"2048" doc:"Only those of this control plane, or application source."`
	Moves       string    `query:"moves" enum:"platform,application" doc:"Only those of control planes, or of applications."`
	Workload    string    `query:"workload" maxLength:"253" doc:"Only those of the application of this workload."`
	Environment string    `query:"environment" maxLength:"253" doc:"Only those into this environment."`
	Commit      string    `query:"commit" maxLength:"64" doc:"Only those of this commit: the full hash."`
	From        time.Time `query:"from" doc:"Only those whose last step was then or later."`
	To          time.Time `query:"to" doc:"Only those whose last step was before."`
	Paging
}

type promotionInput struct {
	Commit  string `path:"commit" minLength:"7" maxLength:"64" pattern:"^[0-9a-f]+$" doc:"The hash, or at least seven digits of it that no other promoted commit begins with."`
	Subject string `query:"subject" maxLength:"2048" doc:"The control plane, or application source; needed only where commits of several begin so."`
}

type historyInput struct {
	Environment string    `query:"environment" maxLength:"253" doc:"Whose history is wanted; may also restrict that of a workload."`
	Workload    string    `query:"workload" maxLength:"253" doc:"Whose history is wanted."`
	Cluster     string    `query:"cluster" maxLength:"253" doc:"Whose history is wanted."`
	Kind        []string  `query:"kind" maxItems:"16" enum:"promotion,commit,rollout,transition,change,registration,audit" doc:"Only these kinds of events, separated by commas. audit needs the role admin."`
	From        time.Time `query:"from" doc:"Only what happened then or later."`
	To          time.Time `query:"to" doc:"Only what happened before."`
	Paging
}

type compareInput struct {
	A    string    `path:"a" maxLength:"253" doc:"One environment."`
	B    string    `path:"b" maxLength:"253" doc:"The other one."`
	AsOf time.Time `query:"asOf" doc:"The time of which both are compared; absent: now."`
}

type figuresInput struct {
	Environment string    `query:"environment" maxLength:"253" doc:"Only deployments to this environment."`
	Workload    string    `query:"workload" maxLength:"253" doc:"Only those of this workload."`
	Workspace   string    `query:"workspace" maxLength:"253" doc:"Only those of this workspace."`
	ByTeam      bool      `query:"byTeam" doc:"Sums up the workloads of each workspace."`
	From        time.Time `query:"from" doc:"The beginning; absent: 30 days before the end."`
	To          time.Time `query:"to" doc:"The end; absent: now."`
}

func registerPast(s *service) {
	askList(s, operation{
		id: "list-promotions", path: "/promotions", summary: "Commits on their way, each with its last step",
	}, func(ctx context.Context, in *promotionsInput) (page query.Page[query.Promotion], err error) {
		q := query.PromotionsQuery{
			Subject: in.Subject, Moves: query.Moves(in.Moves), Workload: in.Workload, Environment: in.Environment,
			Commit: in.Commit, From: in.From, To: in.To,
		}
		if q.Paging, err = in.of(); err != nil {
			return page, err
		}
		return s.Observer.Promotions(ctx, q)
	})
	ask(s, operation{
		id: "get-promotion", path: "/promotions/{commit}", summary: "One commit's way, step by step",
	}, func(ctx context.Context, in *promotionInput) (query.PromotionDetail, error) {
		return s.Observer.Promotion(ctx, query.PromotionQuery{Commit: in.Commit, Subject: in.Subject})
	})
	askList(s, operation{
		id: "get-history", path: "/history", summary: "What happened to an environment, a workload or a cluster, the newest first",
		about: "One of environment, workload and cluster is needed.",
	}, s.history)
	ask(s, operation{
		id: "compare", path: "/compare/{a}/{b}", summary: "How two environments differ",
	}, func(ctx context.Context, in *compareInput) (query.Comparison, error) {
		return s.Observer.Compare(ctx, query.CompareQuery{A: in.A, B: in.B, AsOf: in.AsOf})
	})
	ask(s, operation{
		id: "get-figures", path: "/figures", summary: "Deployment frequency, lead time, change failure rate and time to restore",
	}, func(ctx context.Context, in *figuresInput) (query.Figures, error) {
		return s.Observer.Figures(ctx, query.FiguresQuery{
			Environment: in.Environment, Workload: in.Workload, Workspace: in.Workspace, ByTeam: in.ByTeam, From: in.From, To: in.To,
		})
	})
}

func (s *service) history(ctx context.Context, in *historyInput) (page query.Page[query.Event], err error) {
	if in.Environment == "" && in.Workload == "" && in.Cluster == "" {
		return page, newProblem(http.StatusUnprocessableEntity, "nothing says whose history is wanted", "add environment, workload or cluster")
	}
	q := query.HistoryQuery{Environment: in.Environment, Workload: in.Workload, Cluster: in.Cluster, From: in.From, To: in.To}
	for _, kind := range in.Kind {
		q.Kinds = append(q.Kinds, query.EventKind(kind))
		if query.EventKind(kind) == query.EventAudit {
			if err := access.From(ctx).May(access.Admin); err != nil {
				return page, err
			}
			q.Audits = true
		}
	}
	if q.Paging, err = in.of(); err != nil {
		return page, err
	}
	return s.Observer.History(ctx, q)
}
