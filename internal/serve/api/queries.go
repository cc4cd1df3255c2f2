package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// EnvironmentPath identifies an environment.
type EnvironmentPath struct {
	Name         string `path:"name" maxLength:"253" doc:"Name of the environment."`
	ControlPlane string `query:"controlPlane" maxLength:"2048" doc:"URL of the control plane; required only if several have an environment of this name."`
}

// ProgressQuery asks how far a commit is in an environment.
type ProgressQuery struct {
	EnvironmentPath
	Commit string `query:"commit" maxLength:"64" doc:"The hash, or at least seven digits of it. Default: the environment's commit."`
	Ring   string `query:"ring" maxLength:"253" doc:"Whether it passed this ring of the environment. The commit can be one of the GitOps branch."`
}

// ApplicationProgressQuery asks how far a commit of an application's source is in an environment.
type ApplicationProgressQuery struct {
	query.ApplicationQuery
	Environment string `query:"environment" required:"true" maxLength:"253" doc:"Name of the environment."`
	Commit      string `query:"commit" maxLength:"64" doc:"A commit of the source, or at least seven digits of it. Default: the environment's commit."`
}

// ClustersQuery asks for clusters. Label has what Labels has, as the API wants it.
type ClustersQuery struct {
	query.ClustersQuery
	Label []string `query:"label,explode" maxItems:"16" maxLength:"400" doc:"Only clusters with this label, as name=value; can be repeated."`
}

type mapInput struct {
	query.MapQuery
	Label []string `query:"label,explode" maxItems:"16" maxLength:"400" doc:"Only clusters with this label, as name=value, and what belongs to them; can be repeated."`
}

type workloadInput struct {
	Name string `path:"name" maxLength:"253" doc:"Name of the workload."`
}

// registerQueries registers what the [query.Observer] answers.
func registerQueries(s *service) {
	o := s.Observer
	ask(s, operation{
		id: "list-environments", path: "/environments", summary: "List environments",
		about: "Sorted by control plane, in the order of its chain, with commit, gate, open pull request, problems, and what waits for what.",
	}, within(s, (*query.Observer).Environments))
	ask(s, operation{id: "get-environment", path: "/environments/{name}", summary: "Get an environment"}, within(s, (*query.Observer).Environment))
	ask(s, operation{
		id: "list-needs", path: "/needs", summary: "List what does not go on without a user",
		about: "Pull requests to merge, removals and verifications to approve, clusters that fail by cause, missing values, and problems of repositories; each with the " +
			"action that settles it, the most urgent first. Nothing needs a user only if unsure is empty, too.",
	}, within(s, (*query.Observer).Needs))
	ask(s, operation{
		id: "get-progress", path: "/environments/{name}/progress", summary: "Get whether a commit passed, failed or waits",
		about: "For jobs that poll until their commit is deployed. With If-None-Match, polling is cheap.",
	}, func(ctx context.Context, in ProgressQuery) (query.Progress, error) {
		return o.Progress(ctx, query.ProgressQuery{Environment: in.Name, ControlPlane: in.ControlPlane, Ring: in.Ring, Commit: in.Commit})
	})
	ask(s, operation{
		id: "explain", path: "/environments/{name}/explain", summary: "Explain why a target is, or is not, on a cluster type, and where its configuration is written",
		about: "As of the last round: the answer names its commits. The same as kalypso explain for these commits. Values that look like a credential are hidden.",
	}, o.Explain)
	ask(s, operation{id: "list-assignments", path: "/assignments", summary: "List which target is on which cluster type, with the states of its clusters"}, within(s, (*query.Observer).Assignments))
	ask(s, operation{
		id: "get-matrix", path: "/matrix", summary: "Get the assignments of an environment as a table",
		about: "The limit of a page is a number of targets. Each page has all cluster types.",
	}, within(s, (*query.Observer).Matrix))

	ask(s, operation{
		id: "get-map", path: "/map", summary: "Get how workloads reach clusters: policies, cluster types, rings and clusters, with their states",
		about: "The limit of a page is a number of clusters; the most urgent come first. Each page has everything else.",
	}, func(ctx context.Context, in mapInput) (m query.Map, err error) {
		if in.Labels, err = labels(in.Label); err != nil {
			return m, err
		}
		return s.seen(ctx).Map(ctx, in.MapQuery)
	})

	ask(s, operation{
		id: "list-applications", path: "/applications", summary: "List the applications that the server delivers",
		about: "These are registered by a control plane, and have a Delivery in their source. Each environment has commit, version, image, gate, open pull request, problems, and what it waits for.",
	}, within(s, (*query.Observer).Applications))
	ask(s, operation{id: "get-application", path: "/applications/{name}", summary: "Get an application"}, within(s, (*query.Observer).Application))
	ask(s, operation{
		id: "get-application-progress", path: "/applications/{name}/progress", summary: "Get whether a commit of an application's source passed, failed or waits in an environment",
		about: "For jobs that poll until their commit is deployed. With If-None-Match, polling is cheap. For applications that CI delivers, it is what CI recorded.",
	}, func(ctx context.Context, in ApplicationProgressQuery) (query.Progress, error) {
		return s.seen(ctx).Progress(ctx, query.ProgressQuery{Application: in.Name, Subject: in.Subject, Environment: in.Environment, Commit: in.Commit})
	})

	ask(s, operation{
		id: "list-solution-versions", path: "/applications/{name}/environments/{environment}/versions", summary: "List the solution versions of an application in an environment, newest first",
		about: "What each merged commit of its GitOps branch rendered, as Git has it. The same as kalypso solution versions.",
	}, within(s, (*query.Observer).SolutionVersions))
	ask(s, operation{
		id: "list-revisions", path: "/applications/{name}/environments/{environment}/targets/{target}/revisions", summary: "List the revisions of a target, newest first",
		about: "Which commits of the GitOps branch changed its files, when, by whom, from which build and configuration, and what clusters reported about each. The same as kalypso target revisions.",
	}, within(s, (*query.Observer).Revisions))

	ask(s, operation{id: "list-workloads", path: "/workloads", summary: "List workloads with their versions in each environment"}, within(s, (*query.Observer).Workloads))
	ask(s, operation{id: "get-workload", path: "/workloads/{name}", summary: "Get a workload across all environments"},
		func(ctx context.Context, in workloadInput) (query.WorkloadDetail, error) {
			return s.seen(ctx).Workload(ctx, in.Name)
		})
	ask(s, operation{id: "list-targets", path: "/targets", summary: "List targets, with what should run and what runs"}, within(s, (*query.Observer).Targets))
	ask(s, operation{
		id: "get-target", path: "/environments/{name}/targets/{target}", summary: "Get a target: what runs on which clusters, what was deployed to it, and its pin",
		about: "If its revisions cannot be read from Git, unread says why, and the answer has everything else.",
	}, within(s, (*query.Observer).TargetDetail))
	ask(s, operation{id: "list-versions", path: "/versions", summary: "List which version of each workload runs where"}, within(s, (*query.Observer).Versions))

	ask(s, operation{id: "list-clusters", path: "/clusters", summary: "List clusters, and whether they run what they should"},
		func(ctx context.Context, in ClustersQuery) (page query.Page[query.Cluster], err error) {
			if in.Labels, err = labels(in.Label); err != nil {
				return page, err
			}
			return s.seen(ctx).Clusters(ctx, in.ClustersQuery)
		})
	ask(s, operation{id: "get-cluster", path: "/clusters/{name}", summary: "Get a cluster"}, within(s, (*query.Observer).Cluster))
	ask(s, operation{id: "list-reconcilers", path: "/reconcilers", summary: "List reconcilers with their source, revision and state"}, within(s, (*query.Observer).Reconcilers))
	ask(s, operation{
		id: "list-discrepancies", path: "/discrepancies", summary: "List clusters that do not run what they should, since when and why",
	}, within(s, (*query.Observer).Discrepancies))

	ask(s, operation{id: "list-promotions", path: "/promotions", summary: "List promotions, each with its last step"}, within(s, (*query.Observer).Promotions))
	ask(s, operation{id: "get-promotion", path: "/promotions/{commit}", summary: "Get the promotion of a commit, step by step"}, within(s, (*query.Observer).Promotion))
	ask(s, operation{
		id: "get-history", path: "/history", summary: "List events of an environment, a workload or a cluster, newest first",
		about: "One of environment, workload and cluster is required.",
	}, s.history)
	ask(s, operation{id: "compare", path: "/compare/{a}/{b}", summary: "Compare two environments"}, within(s, (*query.Observer).Compare))
	ask(s, operation{
		id: "get-figures", path: "/figures", summary: "Get deployment frequency, lead time, change failure rate and time to restore",
	}, within(s, (*query.Observer).Figures))
}

// labels parses name=value pairs.
func labels(pairs []string) (map[string]string, error) {
	all := map[string]string{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			p := newProblem(http.StatusUnprocessableEntity, "a label has the form name=value", "write label=region=eu, and repeat it for more labels")
			p.Errors = []ProblemPart{{Message: "want name=value", Location: "query.label"}}
			return nil, p
		}
		all[name] = value
	}
	return all, nil
}

func (s *service) history(ctx context.Context, q query.HistoryQuery) (page query.Page[query.Event], err error) {
	if q.Environment == "" && q.Workload == "" && q.Cluster == "" {
		return page, newProblem(http.StatusUnprocessableEntity, "environment, workload or cluster is required", "add one of these parameters")
	}
	for _, kind := range q.Kinds {
		if kind == query.EventAudit {
			if err := access.From(ctx).May(access.Admin); err != nil {
				return page, err
			}
			q.Audits = true
		}
	}
	return s.seen(ctx).History(ctx, q)
}
