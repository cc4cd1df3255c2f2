package web

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// eventView is an event with a link to its details.
type eventView struct {
	query.Event
	// State is the resulting state; nil for none.
	State any
	// Address is a page with details; empty for none.
	Address string
	// Day is set on the first event of a day.
	Day string
}

// timelineOf prepares events, newest first. It leaves out links to here, the path of the page.
func timelineOf(events []query.Event, here string) []eventView {
	var views []eventView
	var last time.Time
	for _, e := range events {
		if e.Step == string(promote.StatusPosted) {
			continue // a status only repeats the step before
		}
		if n := len(views); n > 0 && repeats(&views[n-1].Event, &e) {
			continue
		}
		v := eventView{Event: e, Address: eventAddress(e)}
		v.Summary = shortSummary(e)
		if v.Address == here {
			v.Address = ""
		}
		switch {
		case e.State != "":
			v.State = e.State
		case e.Phase != "":
			v.State = e.Phase
		case e.Step != "":
			v.State = e.Step
		}
		if day := e.At.UTC().Truncate(24 * time.Hour); last.IsZero() || !day.Equal(last) {
			last, v.Day = day, day.Format("Monday, 2 January 2006")
		}
		views = append(views, v)
	}
	return views
}

// repeats reports whether an event is the step that the status after it, which has the reason, reports.
func repeats(status, step *query.Event) bool {
	same := label(step.Step) == label(status.Phase) || step.Step == string(decide.StepDeployed) && status.Phase.Deployed()
	return status.Step == string(promote.StateChanged) && step.Step != "" && same &&
		status.Commit == step.Commit && status.Revision == step.Revision && status.Environment == step.Environment && status.Ring == step.Ring &&
		status.Workload == step.Workload && status.At.Sub(step.At) < time.Second
}

// shortSummary returns a summary without what the page shows beside it: the state, and the protocol of a repository.
func shortSummary(e query.Event) string {
	text := strings.Replace(e.Summary, " of https://", " of ", 1) // the ledger does not know the protocol
	if e.Step != "" {
		text = strings.TrimSuffix(text, " "+promote.Spaced(e.Step))
	}
	if e.Kind == query.EventRollout {
		text = strings.TrimSuffix(text, fmt.Sprintf(" first %s", e.State))
	}
	return text
}

// eventAddress returns the address of an event's details; empty for none.
func eventAddress(e query.Event) string {
	switch {
	case isLink(e.URL):
		return e.URL
	case isHash(e.Commit):
		return "/promotions/" + e.Commit
	case e.Cluster != "":
		return clusterAddress(e.Cluster)
	case e.Workload != "":
		return "/workloads/" + url.PathEscape(e.Workload)
	}
	return ""
}

// historyPage is the history, filtered.
type historyPage struct {
	query.Page[query.Event]
	// Groups are the events by cause, and Histogram shows when they happened.
	Groups    []eventGroup
	Histogram *histogram
	// The filter.
	Environment, Ring, Workload, Target, Cluster, Kind, From, To string
	Environments                                                 []string
	Kinds                                                        []query.EventKind
	Workloads, Clusters                                          choices
	Next                                                         string
	// Default is the initial time of the form for a point in time.
	Default string
}

func (s *site) history(q *pageRequest) (*pageResult, error) {
	asOf, err := q.when("asOf")
	if err != nil {
		return nil, err
	}
	offered := slices.Concat(kinds, []query.EventKind{query.EventRegistration})
	kind, err := oneOf(q, "kind", slices.Concat(offered, []query.EventKind{query.EventAudit, allKinds})...)
	if err != nil {
		return nil, err
	}
	view := historyPage{
		Environment: q.text("environment"), Ring: q.text("ring"), Workload: q.text("workload"), Target: q.text("target"), Cluster: q.text("cluster"), Kind: string(kind), From: q.text("from"), To: q.text("to"),
		Kinds:   offered,
		Default: q.now.Add(-24 * time.Hour).Format("2006-01-02T15:04"),
	}
	if !asOf.IsZero() {
		return &pageResult{to: pastAddress(view, asOf)}, nil
	}
	history := query.HistoryQuery{
		Environment: view.Environment, Ring: view.Ring, Workload: view.Workload, Target: view.Target, Cluster: view.Cluster, Kinds: kindsOf(view),
		Audits: q.role.Includes(access.Admin), Paging: q.paging(query.DefaultLimit),
	}
	if history.From, err = q.when("from"); err != nil {
		return nil, err
	}
	if history.To, err = q.when("to"); err != nil {
		return nil, err
	}
	if view.Page, err = q.observer.History(q.Context(), history); err != nil {
		return nil, err
	}
	if view.Environments, err = s.environmentNames(q); err != nil {
		return nil, err
	}
	workloads, err := s.ledgerNames(q, ledger.NameWorkload)
	if err != nil {
		return nil, err
	}
	clusters, err := s.ledgerNames(q, ledger.NameCluster)
	if err != nil {
		return nil, err
	}
	view.Workloads, view.Clusters = choicesOf("Workload", "workload", view.Workload, workloads), choicesOf("Cluster", "cluster", view.Cluster, clusters)
	events := timelineOf(view.Items, "")
	view.Groups, view.Histogram, view.Next = groupsOf(events), histogramOf(events), q.next(view.Page.Next)
	return &pageResult{title: "Activity", value: view.Page, view: view, command: s.historyCommand(view), concerns: []string{operations("")}}, nil
}

// kinds are the kinds that the page shows by default. allKinds includes registrations: with thousands of
// clusters, a day's registrations would hide everything else.
var kinds = []query.EventKind{
	query.EventPromotion, query.EventCommit, query.EventRollout, query.EventTransition, query.EventChange,
}

const allKinds = "all"

// kindsOf returns the kinds that a filter selects; nil for all.
func kindsOf(v historyPage) []query.EventKind {
	switch {
	case v.Kind == allKinds || v.Kind == "" && v.Cluster != "":
		return nil
	case v.Kind == "":
		return kinds
	}
	return []query.EventKind{query.EventKind(v.Kind)}
}

// pastAddress returns the address of a page's state at a point in time.
func pastAddress(v historyPage, asOf time.Time) string {
	at := "?asOf=" + url.QueryEscape(asOf.Format(time.RFC3339))
	switch {
	case v.Cluster != "":
		return "/clusters/" + url.PathEscape(v.Cluster) + at
	case v.Environment != "":
		return "/environments/" + url.PathEscape(v.Environment) + at
	}
	return "/clusters" + at
}

// historyCommand returns the equivalent command; empty for an unfiltered history.
func (s *site) historyCommand(v historyPage) string {
	kind := ""
	switch {
	case v.Cluster != "":
		kind = "cluster"
	case v.Workload != "":
		kind = "workload"
	case v.Environment != "":
		kind = "environment"
	default:
		return ""
	}
	environment := v.Environment
	if v.Ring != "" {
		environment = decide.RingName(environment, v.Ring)
	}
	words := []string{"history", kind, cmp.Or(v.Cluster, v.Workload, environment)}
	if kind == "workload" && v.Environment != "" {
		words = append(words, "-e", v.Environment)
	}
	if v.Target != "" {
		words = append(words, "--target", v.Target)
	}
	for _, flag := range [][2]string{{"--from", v.From}, {"--to", v.To}} {
		if flag[1] != "" {
			words = append(words, flag[0], flag[1])
		}
	}
	return s.command(words...)
}
