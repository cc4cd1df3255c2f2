package assistant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
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

// mostItems is the largest page.
const mostItems = 100

func (p pageInput) paging() query.Paging {
	return query.Paging{After: p.After, Limit: cmp.Or(p.Limit, page)}
}

// check returns an error if the limit is out of bounds. Inputs with pages have it, too.
func (p pageInput) check() error {
	if p.Limit < 0 || p.Limit > mostItems {
		return fmt.Errorf("limit %d: want a number from 1 to %d", p.Limit, mostItems)
	}
	return nil
}

// timeInput is a time as RFC 3339.
type timeInput string

// times parses the times of an input, and keeps the first error.
type times struct{ err error }

func (t *times) at(text timeInput) time.Time {
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, string(text))
	if err != nil && t.err == nil {
		t.err = errors.New("a time is like 2026-11-17T10:00:00Z: " + err.Error())
	}
	return at
}

// addQuery adds a tool whose input becomes a query.
func addQuery[I, Q, T any](s *mcp.Server, name, description string, query func(in I, t *times) Q, answer func(context.Context, Q) (T, error)) {
	addTool(s, name, description, func(ctx context.Context, in I) (none T, err error) {
		var t times
		q := query(in, &t)
		err = cmp.Or(t.err, checkWords(reflect.ValueOf(q)))
		if paged, ok := any(in).(interface{ check() error }); ok {
			err = cmp.Or(err, paged.check())
		}
		if err != nil {
			return none, err
		}
		return answer(ctx, q)
	})
}

// checkWords returns an error if a text of a query is none of the words that its tag enum lists. The API reads the same tags.
func checkWords(q reflect.Value) error {
	for i := range q.NumField() {
		field, value := q.Type().Field(i), q.Field(i)
		words := field.Tag.Get("enum")
		if words == "" || value.Kind() != reflect.String || value.IsZero() || slices.Contains(strings.Split(words, ","), value.String()) {
			continue
		}
		return fmt.Errorf("%s %q: want %s", field.Tag.Get("query"), value.String(), strings.Join(strings.Split(words, ","), ", "))
	}
	return nil
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
	Steps  int    `json:"steps,omitempty" jsonschema:"how many of the last steps of each environment to list, up to 500; the last two by default"`
}

// check returns an error if the number of steps is out of bounds.
func (p promotionInput) check() error {
	if p.Steps < 0 || p.Steps > 500 {
		return fmt.Errorf("steps %d: want a number from 1 to 500", p.Steps)
	}
	return nil
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
	A     string    `json:"a" jsonschema:"one environment"`
	B     string    `json:"b" jsonschema:"the other environment"`
	AsOf  timeInput `json:"asOf,omitempty" jsonschema:"both at this time; now by default"`
	BAsOf timeInput `json:"bAsOf,omitempty" jsonschema:"the other environment at this time; asOf by default, and now for one environment twice, whose answer has what happened between"`
}

type figuresInput struct {
	Environment string    `json:"environment,omitempty" jsonschema:"only deployments to this environment"`
	Workload    string    `json:"workload,omitempty" jsonschema:"only deployments of this workload"`
	From        timeInput `json:"from,omitempty" jsonschema:"start of the period; 30 days before its end by default"`
	To          timeInput `json:"to,omitempty" jsonschema:"end of the period; now by default"`
}

// addQuestions adds the queries about the fleet.
func addQuestions(s *mcp.Server, o Questions) {
	addQuery(s, "list_environments", "Each environment with its commit, the phase of its promotion, how many clusters run it, and what waits for what and why.",
		func(in environmentsInput, _ *times) query.EnvironmentsQuery {
			return query.EnvironmentsQuery{ControlPlane: in.ControlPlane, Paging: in.paging()}
		}, o.Environments)
	addQuery(s, "get_environment", "One environment with its plan, problems with file and line, held assignments, cluster types, and the last steps of its promotions.",
		func(in environmentInput, t *times) query.EnvironmentQuery {
			return query.EnvironmentQuery{Name: in.Environment, ControlPlane: in.ControlPlane, AsOf: t.at(in.AsOf)}
		}, o.Environment)
	addQuery(s, "list_discrepancies", "Clusters that do not run what they should, since when, and the message of their reconciler.",
		func(in discrepanciesInput, t *times) query.DiscrepanciesQuery {
			return query.DiscrepanciesQuery{
				Environment: in.Environment, Cluster: in.Cluster, ClusterType: in.ClusterType, State: comply.State(in.State), AsOf: t.at(in.AsOf), Paging: in.paging(),
			}
		}, o.Discrepancies)
	addQuery(s, "get_progress", "Whether a commit passed, failed or waits in an environment, and why.",
		func(in progressInput, _ *times) query.ProgressQuery {
			return query.ProgressQuery{Environment: in.Environment, ControlPlane: in.ControlPlane, Ring: in.Ring, Application: in.Application, Commit: in.Commit}
		}, o.Progress)
	addQuery(s, "get_promotion", "The promotion of a commit through all environments, with reasons, its last steps and who did them.",
		func(in promotionInput, _ *times) promotionQuery {
			return promotionQuery{query.PromotionQuery{Commit: in.Commit}, in.Steps}
		}, promotion(o.Promotion))
	addQuery(s, "list_clusters", "Clusters, and whether they run what they should.",
		func(in clustersInput, t *times) query.ClustersQuery {
			return query.ClustersQuery{
				Environment: in.Environment, ClusterType: in.ClusterType, State: comply.State(in.State), AsOf: t.at(in.AsOf), Paging: in.paging(),
			}
		}, o.Clusters)
	addQuery(s, "get_cluster", "One cluster with its memberships, its reconcilers, their revisions and messages.",
		func(in clusterInput, t *times) query.ClusterQuery {
			return query.ClusterQuery{Name: in.Cluster, AsOf: t.at(in.AsOf)}
		}, o.Cluster)
	addQuery(s, "list_applications", "The applications that a server delivers, with their builds in each environment.",
		func(in pageInput, _ *times) query.ApplicationsQuery {
			return query.ApplicationsQuery{Paging: in.paging()}
		}, o.Applications)
	addQuery(s, "get_application", "One application with its environments, problems and what they wait for.",
		func(in applicationInput, _ *times) query.ApplicationQuery {
			return query.ApplicationQuery{Name: in.Application}
		}, o.Application)
	addQuery(s, "list_versions", "Which version of each workload runs where, since when.",
		func(in versionsInput, t *times) query.VersionsQuery {
			return query.VersionsQuery{Environment: in.Environment, Workload: in.Workload, AsOf: t.at(in.AsOf), Paging: in.paging()}
		}, o.Versions)
	addQuery(s, "list_history", "Events of an environment, a workload or a cluster, newest first: promotions, commits, pull requests, registrations, changes of state.",
		func(in historyInput, t *times) query.HistoryQuery {
			return query.HistoryQuery{
				Environment: in.Environment, Ring: in.Ring, Workload: in.Workload, Cluster: in.Cluster, From: t.at(in.From), To: t.at(in.To), Paging: in.paging(),
			}
		}, func(ctx context.Context, q query.HistoryQuery) (none query.Page[query.Event], err error) {
			if q.Environment == "" && q.Workload == "" && q.Cluster == "" {
				return none, errors.New("name an environment, a workload or a cluster")
			}
			return o.History(ctx, q)
		})
	addQuery(s, "compare", "What differs between two environments, or between two times of one: versions, assignments and configuration.",
		func(in compareInput, t *times) query.CompareQuery {
			return query.CompareQuery{A: in.A, B: in.B, AsOf: t.at(in.AsOf), BAsOf: t.at(in.BAsOf)}
		}, o.Compare)
	addQuery(s, "get_figures", "Deployment frequency, lead time, change failure rate and time to restore.",
		func(in figuresInput, t *times) query.FiguresQuery {
			return query.FiguresQuery{Environment: in.Environment, Workload: in.Workload, From: t.at(in.From), To: t.at(in.To)}
		}, o.Figures)
}
