package web

import (
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
	view.Next = q.next(view.Page.Next)
	words := []string{"cluster", "list"}
	for _, flag := range [][2]string{{"-e", view.Environment}, {"--type", view.ClusterType}, {"--state", view.State}} {
		if flag[1] != "" {
			words = append(words, flag[0], flag[1])
		}
	}
	return &pageResult{
		title: "Clusters", value: view.Page, view: view, command: s.command(words...),
		concerns: whenCurrent(asOf, operations("clusters/"), operations("environments/")),
	}, nil
}

// clusterPage is everything about one cluster.
type clusterPage struct {
	query.ClusterDetail
	Timeline []eventView
	AsOf     time.Time
	Now      string
}

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
		view:     clusterPageOf(detail, q.URL.EscapedPath(), asOf, q.with("asOf", "")),
	}, nil
}

// clusterPageOf prepares a cluster. Reconcilers that wait for the first merge into their branch try again and again, each time with an
// error that nobody has to correct: the page shows what they wait for instead, and only their last attempt.
func clusterPageOf(detail query.ClusterDetail, here string, asOf time.Time, now string) clusterPage {
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
	return clusterPage{ClusterDetail: detail, Timeline: timelineOf(events, here), AsOf: asOf, Now: now}
}
