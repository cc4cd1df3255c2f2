package web

import (
	"net/url"
	"time"

	"github.com/kalypso-io/kalypso/internal/compliance"
	"github.com/kalypso-io/kalypso/internal/observing"
)

// clustersPage is the list of clusters.
type clustersPage struct {
	observing.Page[observing.Cluster]
	Environment, ClusterType, State string
	Environments                    []string
	States                          []compliance.State
	Next                            string
	AsOf                            time.Time
	Now                             string
}

func (s *site) clusters(q *question) (*answer, error) {
	asOf, err := q.when("asOf")
	if err != nil {
		return nil, err
	}
	states := []compliance.State{compliance.Reached, compliance.Behind, compliance.Broken, compliance.Offline, compliance.Missing}
	state, err := oneOf(q, "state", states...)
	if err != nil {
		return nil, err
	}
	view := clustersPage{
		Environment: q.text("environment"), ClusterType: q.text("clusterType"), State: string(state), AsOf: asOf, Now: q.with("asOf", ""), States: states,
	}
	view.Page, err = s.Observer.Clusters(q.Context(), observing.ClustersQuery{
		Environment: view.Environment, ClusterType: view.ClusterType, State: state, AsOf: asOf, Paging: q.paging(observing.DefaultLimit),
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
	return &answer{
		title: "Clusters", value: view.Page, view: view, command: s.command(words...),
		concerns: now(asOf, operations("clusters/"), operations("environments/")),
	}, nil
}

// clusterPage is everything about one cluster.
type clusterPage struct {
	observing.ClusterDetail
	Timeline []eventView
	AsOf     time.Time
	Now      string
}

func (s *site) cluster(q *question) (*answer, error) {
	name := q.PathValue("name")
	asOf, err := q.when("asOf")
	if err != nil {
		return nil, err
	}
	detail, err := s.Observer.Cluster(q.Context(), observing.ClusterQuery{Name: name, AsOf: asOf})
	if err != nil {
		return nil, err
	}
	return &answer{
		title: line(name), value: detail, command: s.command("cluster", "show", name),
		concerns: now(asOf, operations("clusters/"+url.PathEscape(name)), operations("environments/")),
		view:     clusterPage{ClusterDetail: detail, Timeline: timelineOf(detail.Timeline, q.URL.EscapedPath()), AsOf: asOf, Now: q.with("asOf", "")},
	}, nil
}
