package web

import (
	"net/url"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// ringView is a ring in the diagram of an environment's rings.
type ringView struct {
	query.Ring
	Environment string
	Parts       []barPart
	// ControlPlane is that of the environment; empty if the page offers no actions.
	ControlPlane string
	// Bypasses means that the user may bypass verifications.
	Bypasses bool
	// History is the address of the ring's history.
	History string
}

// ringsOf returns the diagram of an environment's rings, with actions for those who may.
func ringsOf(q *pageRequest, environment, controlPlane string, rings []query.Ring) []ringView {
	if !q.role.Includes(access.Operator) {
		controlPlane = ""
	}
	var views []ringView
	for _, r := range rings {
		c := r.Counts
		views = append(views, ringView{
			Ring: r, Environment: environment, ControlPlane: controlPlane, Bypasses: q.role.Includes(access.Admin),
			Parts: barOf([]stateCount{
				{comply.Reached, c.Reached}, {comply.Behind, c.Behind}, {comply.Broken, c.Failed}, {comply.Offline, c.Offline}, {comply.Missing, c.Missing},
			}),
			History: "/history?environment=" + url.QueryEscape(environment) + "&ring=" + url.QueryEscape(r.Name),
		})
	}
	return views
}

// Field has a square for each cluster; nil without clusters.
func (r ringView) Field() *clusterField { return fieldOf(worstFirst(r.Counts)) }

// worstFirst has the counts of clusters, the worst first.
func worstFirst(c comply.Counts) []stateCount {
	return []stateCount{
		{comply.Broken, c.Failed}, {comply.Missing, c.Missing}, {comply.Offline, c.Offline}, {comply.Behind, c.Behind}, {comply.Reached, c.Reached},
	}
}

// rollingView is an environment with rings, on the page of promotions.
type rollingView struct {
	Name  string
	Rings []ringView
}

// rolling returns the environments with rings; environment selects one, and is empty for all.
func (s *site) rolling(q *pageRequest, environment string) []rollingView {
	var views []rollingView
	for _, standing := range q.observer.Standings() {
		if p := standing.Promotion; p != nil && len(p.Rings) > 0 && (environment == "" || environment == standing.Environment) {
			views = append(views, rollingView{standing.Environment, ringsOf(q, standing.Environment, standing.ControlPlane, query.RingsOf(p.Rings))})
		}
	}
	return views
}
