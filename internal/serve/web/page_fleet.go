package web

import (
	"fmt"
	"net/url"
	"strings"
	"time"

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
	// Needs is what needs a user; nil if only the ledger is known.
	Needs *needsView
	// More reports that not all environments are shown.
	More bool
	// AsOf is the point in time that is shown, zero for now. Now is the address of the current state, and Time chooses the moment.
	AsOf time.Time
	Now  string
	Time *timeBar
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
	// Scoped means that the user cannot open the commit's promotion, which is the platform's.
	Scoped bool
}

func (s *site) fleet(q *pageRequest) (*pageResult, error) {
	asOf, moved, err := q.asOf()
	if err != nil || moved != "" {
		return &pageResult{to: moved}, err
	}
	controlPlane := q.text("controlPlane")
	if !asOf.IsZero() {
		controlPlane = "" // the history does not have it
	}
	all, err := q.observer.Environments(q.Context(), query.EnvironmentsQuery{
		ControlPlane: controlPlane, AsOf: asOf, Paging: query.Paging{Limit: query.MaxLimit},
	})
	if err != nil {
		return nil, err
	}
	view := fleetPage{Chains: chainsOf(all.Items, q.observer.Scoped()), More: all.Next != "", AsOf: asOf, Now: q.with("asOf", "")}
	if view.Time, err = s.timeBar(q, "", asOf); err != nil {
		return nil, err
	}
	if asOf.IsZero() {
		err = s.addCurrent(q, &view)
	} else {
		view.at(asOf)
	}
	if err != nil {
		return nil, err
	}
	a := &pageResult{title: "Fleet", value: all, view: view, concerns: whenCurrent(asOf, operations("")), summary: summaryOf(all.Items)}
	if asOf.IsZero() {
		a.command = s.command("status")
	}
	return a, nil
}

// addCurrent adds what is known of the current state only.
func (s *site) addCurrent(q *pageRequest, view *fleetPage) error {
	view.Unread = q.observer.Unread()
	if s.Alerts != nil && !q.observer.Scoped() { // alerts can name any repository
		view.Alerts = s.Alerts()
	}
	var err error
	if view.Needs, err = s.firstNeeds(q); err != nil {
		return err
	}
	return s.countApplications(q, view.Chains)
}

// at makes the links lead to the same moment.
func (v *fleetPage) at(asOf time.Time) {
	for _, chain := range v.Chains {
		for i := range chain.Environments {
			chain.Environments[i].Address = pastOf(chain.Environments[i].Address, asOf)
		}
		for i := range chain.Graph.Nodes {
			chain.Graph.Nodes[i].Address = pastOf(chain.Graph.Nodes[i].Address, asOf)
		}
	}
}

// pastOf returns the address of an environment's page at a moment.
func pastOf(address string, asOf time.Time) string {
	path, _, _ := strings.Cut(address, "?") // the history does not have its control plane
	return path + "?asOf=" + url.QueryEscape(asOf.Format(time.RFC3339))
}

// operations returns an address of the API.
func operations(path string) string { return api.Root + "/" + path }

// chainsOf groups environments by control plane. They must be sorted by it.
func chainsOf(all []query.Environment, scoped bool) []chainView {
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
			view := environmentViewOf(e, anchorOf(e, len(chains)), address(e))
			view.Scoped = scoped
			chain.Environments = append(chain.Environments, view)
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
