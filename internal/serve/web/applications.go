package web

import (
	"cmp"
	"slices"

	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// applicationView is an application on its workload's page.
type applicationView struct {
	query.ApplicationDetail
	Environments []deliveryView
	// Command is the equivalent command line.
	Command string
}

// deliveryView is an application in one environment.
type deliveryView struct {
	query.ApplicationEnvironment
	State any
	Gate  *gateView
}

// maxApplications limits the applications of the same name on a page.
const maxApplications = 5

// delivered returns the applications of a name, one for each control plane that registers it.
func (s *site) delivered(q *pageRequest, name string) ([]applicationView, error) {
	page, err := q.observer.Applications(q.Context(), query.ApplicationsQuery{Name: name, Paging: query.Paging{Limit: maxApplications}})
	if err != nil {
		return nil, err
	}
	var all []applicationView
	for _, one := range page.Items {
		detail, err := q.observer.Application(q.Context(), query.ApplicationQuery{Name: one.Name, Subject: one.Subject})
		if err != nil {
			return nil, err
		}
		v := applicationView{ApplicationDetail: detail, Command: s.command("app", "status", one.Name)}
		for _, e := range detail.Environments {
			v.Environments = append(v.Environments, deliveryOf(e))
		}
		all = append(all, v)
	}
	return all, nil
}

func deliveryOf(e query.ApplicationEnvironment) deliveryView {
	commit := ""
	if e.Build != nil {
		commit = e.Build.Commit
	}
	return deliveryView{ApplicationEnvironment: e, State: deliveryState(e), Gate: gateOf(e.Gate, commit, e.Phase)}
}

// deliveryState returns the most important state of an application in an environment.
func deliveryState(e query.ApplicationEnvironment) any {
	switch {
	case e.Error != "":
		return "error"
	case e.Paused != nil:
		return "paused"
	case e.Held > 0:
		return "held"
	}
	return e.Phase
}

// countsOf sorts counts by urgency, then by label.
func countsOf(counts map[any]int) []stateCount {
	var all []stateCount
	for state, n := range counts {
		all = append(all, stateCount{state, n})
	}
	slices.SortFunc(all, func(a, b stateCount) int {
		return cmp.Or(
			slices.Index(urgencies, tone(a.State))-slices.Index(urgencies, tone(b.State)), cmp.Compare(label(a.State), label(b.State)),
		)
	})
	return all
}
