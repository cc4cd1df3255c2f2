package web

import (
	"fmt"
	"strings"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// fleetPage shows the chains of environments.
type fleetPage struct {
	// Alerts are the problems of the server.
	Alerts []Alert
	// Unread are the control planes that could not be read.
	Unread []query.Unread
	Chains []chainView
	// More reports that not all environments are shown.
	More bool
}

// chainView has the environments of one control plane.
type chainView struct {
	// ControlPlane is empty if only the ledger knows the environments.
	ControlPlane string
	Graph        graph
	Environments []environmentView
}

// environmentView is an environment's card.
type environmentView struct {
	query.Environment
	// ID is the card's anchor.
	ID, Address string
	State       any
	Gate        *gateView
	// Applications counts applications by state, the most urgent first.
	Applications []stateCount
	// Why is the reason for its phase; empty if the clusters below its gate show it.
	Why string
}

func (s *site) fleet(q *pageRequest) (*pageResult, error) {
	all, err := s.Observer.Environments(q.Context(), query.EnvironmentsQuery{
		ControlPlane: q.text("controlPlane"), Paging: query.Paging{Limit: query.MaxLimit},
	})
	if err != nil {
		return nil, err
	}
	view := fleetPage{Unread: s.Observer.Unread(), Chains: chainsOf(all.Items), More: all.Next != ""}
	if s.Alerts != nil {
		view.Alerts = s.Alerts()
	}
	if err := s.countApplications(q, view.Chains); err != nil {
		return nil, err
	}
	return &pageResult{
		title: "Fleet", value: all, view: view, command: s.command("status"), concerns: []string{operations("")}, summary: summaryOf(all.Items),
	}, nil
}

// operations returns an address of the API.
func operations(path string) string { return api.Root + "/" + path }

// chainsOf groups environments by control plane. They must be sorted by it.
func chainsOf(all []query.Environment) []chainView {
	var chains []chainView
	address := environmentAddresses(all)
	from := 0
	for i := range all {
		if i+1 < len(all) && all[i+1].ControlPlane == all[i].ControlPlane {
			continue
		}
		group := all[from : i+1]
		from = i + 1
		chain := chainView{ControlPlane: group[0].ControlPlane, Graph: graphOf(group, address)}
		for _, e := range group {
			chain.Environments = append(chain.Environments, environmentViewOf(e, anchorOf(e, len(chains)), address(e)))
		}
		chains = append(chains, chain)
	}
	return chains
}

// anchorOf returns the anchor of an environment. Several chains may have an environment of the same name.
func anchorOf(e query.Environment, chain int) string {
	if chain == 0 {
		return "environment-" + e.Name
	}
	return fmt.Sprintf("environment-%s-%d", e.Name, chain+1)
}

// maxCauses limits the causes on a card.
const maxCauses = 3

func environmentViewOf(e query.Environment, id, address string) environmentView {
	v := environmentView{Environment: e, ID: id, Address: address, State: stateOf(e), Gate: gateOf(e.Gate, e.Commit, e.Phase)}
	if v.Gate == nil || len(v.Gate.Causes) == 0 || e.Candidate != "" {
		v.Why = withoutCauses(e.Reason, e.Gate)
	}
	if v.Gate != nil {
		v.Gate.Causes = v.Gate.Causes[:min(len(v.Gate.Causes), maxCauses)]
	}
	return v
}

// withoutCauses returns a reason without the causes that the gate lists next to it.
func withoutCauses(reason string, g *query.Gate) string {
	if g == nil || len(g.Causes) == 0 || g.Reason == "" {
		return reason
	}
	return strings.Replace(reason, ": "+g.Reason, "", 1)
}

// summaryOf returns the states of environments in one line.
func summaryOf(all []query.Environment) string {
	var parts []string
	for _, e := range all[:min(len(all), 10)] {
		n := nodeOf(e)
		text := fmt.Sprintf("%s %s", n.Name, label(n.State))
		if n.Gate != "" {
			text += ", " + n.Gate
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}
