package web

import (
	"fmt"
	"strings"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// fleetPage is the chains of environments.
type fleetPage struct {
	// Unread are the control planes that could not be read, and why.
	Unread []query.Unread
	Chains []chainView
	// More says that there are environments that are not shown.
	More bool
}

// chainView is the environments of one control plane.
type chainView struct {
	// ControlPlane is empty where only the ledger is asked.
	ControlPlane string
	Graph        graph
	Environments []environmentView
}

// environmentView is an environment at a glance.
type environmentView struct {
	query.Environment
	// ID is the place on the page.
	ID, Address string
	State       any
	Gate        *gateView
	// Applications are how many applications stand how in it, the most urgent first.
	Applications []stateCount
	// Why says what it waits for; empty where the clusters below its gate say it.
	Why string
}

func (s *site) fleet(q *question) (*answer, error) {
	all, err := s.Observer.Environments(q.Context(), query.EnvironmentsQuery{
		ControlPlane: q.text("controlPlane"), Paging: query.Paging{Limit: query.MaxLimit},
	})
	if err != nil {
		return nil, err
	}
	view := fleetPage{Unread: s.Observer.Unread(), Chains: chainsOf(all.Items), More: all.Next != ""}
	if err := s.countApplications(q, view.Chains); err != nil {
		return nil, err
	}
	return &answer{
		title: "Fleet", value: all, view: view, command: s.command("status"), concerns: []string{operations("")}, summary: summaryOf(all.Items),
	}, nil
}

// operations is an address of the API that signals name.
func operations(path string) string { return api.Root + "/" + path }

// chainsOf splits environments where the control plane changes; they come sorted.
func chainsOf(all []query.Environment) []chainView {
	var chains []chainView
	address := addressing(all)
	from := 0
	for i := range all {
		if i+1 < len(all) && all[i+1].ControlPlane == all[i].ControlPlane {
			continue
		}
		group := all[from : i+1]
		from = i + 1
		chain := chainView{ControlPlane: group[0].ControlPlane, Graph: graphOf(group, address)}
		for _, e := range group {
			chain.Environments = append(chain.Environments, glanceOf(e, placeOf(e, len(chains)), address(e)))
		}
		chains = append(chains, chain)
	}
	return chains
}

// placeOf is where on the page an environment of a chain is; several chains may have one of a name.
func placeOf(e query.Environment, chain int) string {
	if chain == 0 {
		return "environment-" + e.Name
	}
	return fmt.Sprintf("environment-%s-%d", e.Name, chain+1)
}

// maxWorst is how many clusters are named at a glance.
const maxWorst = 3

func glanceOf(e query.Environment, id, address string) environmentView {
	v := environmentView{Environment: e, ID: id, Address: address, State: stateOf(e), Gate: gateOf(e.Gate, e.Commit, e.Phase)}
	if v.Gate == nil || len(v.Gate.Worst) == 0 || e.Candidate != "" {
		v.Why = e.Reason
	}
	if v.Gate != nil {
		v.Gate.Worst = v.Gate.Worst[:min(len(v.Gate.Worst), maxWorst)]
	}
	return v
}

// summaryOf says in one line how environments stand.
func summaryOf(all []query.Environment) string {
	var parts []string
	for _, e := range all[:min(len(all), 10)] {
		n := nodeOf(e)
		text := fmt.Sprintf("%s %s", n.Name, word(n.State))
		if n.Gate != "" {
			text += ", " + n.Gate
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}
