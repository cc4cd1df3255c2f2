package web

import (
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

// clustersPage is the list of clusters.
type clustersPage struct {
	query.Page[query.Cluster]
	Environment, ClusterType, State string
	Environments                    []string
	Types                           choices
	States                          []comply.State
	Next                            string
	AsOf                            time.Time
	Now                             string
}

func (s *site) clusters(q *pageRequest) (*pageResult, error) {
	asOf, err := q.when("asOf")
	if err != nil {
		return nil, err
	}
	states := []comply.State{comply.Reached, comply.Behind, comply.Broken, comply.Offline, comply.Missing}
	state, err := oneOf(q, "state", states...)
	if err != nil {
		return nil, err
	}
	view := clustersPage{
		Environment: q.text("environment"), ClusterType: q.text("clusterType"), State: string(state), AsOf: asOf, Now: q.with("asOf", ""), States: states,
	}
	view.Page, err = q.observer.Clusters(q.Context(), query.ClustersQuery{
		Environment: view.Environment, ClusterType: view.ClusterType, State: state, AsOf: asOf, Paging: q.paging(query.DefaultLimit),
	})
	if err != nil {
		return nil, err
	}
	if view.Environments, err = s.environmentNames(q); err != nil {
		return nil, err
	}
	types, _ := s.snapshotNames(q)
	view.Types = choicesOf("Cluster type", "clusterType", view.ClusterType, types)
	view.Next = q.next(view.Page.Next)
	found := view.Page
	view.Items = onlyMatching(found.Items, view.Environment, view.ClusterType, state)
	words := []string{"cluster", "list"}
	for _, flag := range [][2]string{{"-e", view.Environment}, {"--type", view.ClusterType}, {"--state", view.State}} {
		if flag[1] != "" {
			words = append(words, flag[0], flag[1])
		}
	}
	return &pageResult{
		title: "Clusters", value: found, view: view, command: s.command(words...),
		concerns: whenCurrent(asOf, operations("clusters/"), operations("environments/")),
	}, nil
}

// onlyMatching returns the clusters with the memberships that a filter is about: a list of what fails in dev does not show that
// the same cluster is well in stage.
func onlyMatching(all []query.Cluster, environment, clusterType string, state comply.State) []query.Cluster {
	if environment == "" && clusterType == "" && state == "" {
		return all
	}
	clusters := slices.Clone(all)
	for i := range clusters {
		clusters[i].Memberships = slices.DeleteFunc(slices.Clone(clusters[i].Memberships), func(m query.Membership) bool {
			return environment != "" && m.Environment != environment || clusterType != "" && m.ClusterType != clusterType || state != "" && m.State != state
		})
	}
	return clusters
}

// clusterPage is everything about one cluster.
type clusterPage struct {
	query.ClusterDetail
	// Health says in a few words how the reconcilers are; nil without reports.
	Health *healthView
	// Chips are the cluster types, environments and rings of its memberships.
	Chips []string
	Strip []figure
	// Groups are the last events, by cause.
	Groups []eventGroup
	AsOf   time.Time
	Now    string
}

// healthView is a state in words, such as "1 of 14 fails".
type healthView struct{ Tone, Symbol, Text string }

func (s *site) cluster(q *pageRequest) (*pageResult, error) {
	name := q.PathValue("name")
	asOf, err := q.when("asOf")
	if err != nil {
		return nil, err
	}
	detail, err := q.observer.Cluster(q.Context(), query.ClusterQuery{Name: name, AsOf: asOf})
	if err != nil {
		return nil, err
	}
	return &pageResult{
		title: line(name), value: detail, command: s.command("cluster", "show", name),
		concerns: whenCurrent(asOf, operations("clusters/"+url.PathEscape(name)), operations("environments/")),
		view:     clusterPageOf(detail, q, asOf),
	}, nil
}

// clusterPageOf prepares a cluster. Reconcilers that wait for the first merge into their branch try again and again, each time with an
// error that needs no correction: the page shows what they wait for instead, and only their last attempt.
func clusterPageOf(detail query.ClusterDetail, q *pageRequest, asOf time.Time) clusterPage {
	waiting := map[string]string{} // reasons, by reconciler
	for _, m := range detail.Memberships {
		if m.Unpublished && m.State == comply.Behind {
			waiting[m.Reconciler] = m.Reason
		}
	}
	detail.Reconcilers = slices.Clone(detail.Reconcilers)
	for i := range detail.Reconcilers {
		r := &detail.Reconcilers[i]
		id := ledger.ReconcilerID{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
		if reason := waiting[promote.ReconcilerName(id)]; reason != "" {
			r.State, r.Message = ledger.StateProgressing, reason
		}
	}
	seen := map[string]bool{}
	var events []query.Event
	for _, e := range detail.Timeline {
		if reason := waiting[e.Reconciler]; reason != "" && e.Kind == query.EventTransition {
			if seen[e.Reconciler] {
				continue
			}
			seen[e.Reconciler] = true
			e.State, e.Summary, e.Reason = ledger.StateProgressing, e.Reconciler, reason
		}
		events = append(events, e)
	}
	sortWorstFirst(detail.Reconcilers)
	page := clusterPage{ClusterDetail: detail, Groups: groupsOf(timelineOf(events, q.URL.EscapedPath())), AsOf: asOf, Now: q.with("asOf", "")}
	page.Health, page.Chips = healthOf(detail.Reconcilers), chipsOf(detail.Memberships)
	page.Strip = clusterStrip(&detail, q.now, asOf)
	return page
}

// reconcilerState is the worse one of how a reconciler applies and how its objects are.
func reconcilerState(r *query.Reconciler) string {
	if health := string(r.Health); severity(health) > severity(string(r.State)) {
		return health
	}
	return string(r.State)
}

// sortWorstFirst sorts reconcilers by state, and keeps the order of those with the same.
func sortWorstFirst(reconcilers []query.Reconciler) {
	slices.SortStableFunc(reconcilers, func(a, b query.Reconciler) int {
		return severity(reconcilerState(&b)) - severity(reconcilerState(&a))
	})
}

// tallied counts reconcilers by the tone of their state.
func tallied(reconcilers []query.Reconciler) map[string]int {
	counts := map[string]int{}
	for i := range reconcilers {
		counts[tone(reconcilerState(&reconcilers[i]))]++
	}
	return counts
}

// healthOf says how reconcilers are; nil if there are none.
func healthOf(reconcilers []query.Reconciler) *healthView {
	counts, all := tallied(reconcilers), len(reconcilers)
	say := func(state any, n int, verb string) *healthView {
		return &healthView{tone(state), symbol(state), fmt.Sprintf("%s of %s %s", number(n), number(all), verb)}
	}
	switch {
	case all == 0:
		return nil
	case counts[bad] == 1:
		return say("failed", 1, "fails")
	case counts[bad] > 0:
		return say("failed", counts[bad], "fail")
	case counts[move]+counts[warn] > 0:
		return say("progressing", counts[move]+counts[warn], "progressing")
	}
	return say("ready", counts[good], "ready")
}

// chipsOf names the cluster types of memberships, and their environments with rings.
func chipsOf(memberships []query.Membership) []string {
	var chips []string
	add := func(text string) {
		if text != "" && !slices.Contains(chips, text) {
			chips = append(chips, text)
		}
	}
	for _, m := range memberships {
		add(m.ClusterType)
	}
	for _, m := range memberships {
		if m.Ring != "" {
			add(m.Environment + " / " + m.Ring)
		} else {
			add(m.Environment)
		}
	}
	return chips
}

// clusterStrip returns the figures of a cluster.
func clusterStrip(d *query.ClusterDetail, now, asOf time.Time) []figure {
	var strip []figure
	if asOf.IsZero() {
		report := figure{Name: "Last report", Value: "never"}
		if !d.LastHeard.IsZero() {
			report.Value = ago(now.Sub(d.LastHeard))
		}
		strip = append(strip, report)
	}
	if n := len(d.Memberships); n > 0 {
		counts := map[any]int{}
		for _, m := range d.Memberships {
			counts[m.State]++
		}
		reached := counts[comply.Reached]
		strip = append(strip, figure{
			Name: "Runs what it should", Value: number(reached), Unit: "of " + count(n, "membership"), Parts: barOf(countsOf(counts)),
		})
	}
	if n := len(d.Reconcilers); n > 0 {
		counts := tallied(d.Reconcilers)
		strip = append(strip, figure{
			Name: "Ready", Value: number(counts[good]), Unit: "of " + count(n, "reconciler"),
			Parts: barOf([]stateCount{{"failed", counts[bad]}, {"warning", counts[warn]}, {"progressing", counts[move]}, {"ready", counts[good]}, {"unknown", counts[off]}}),
		})
	}
	return strip
}
