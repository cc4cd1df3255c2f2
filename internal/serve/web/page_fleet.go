package web

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// fleetPage shows the boards of control planes, with what needs a user and what happened.
type fleetPage struct {
	// Alerts are the problems of the server.
	Alerts []Alert
	// Unread are the control planes that could not be read.
	Unread []query.Unread
	// Strip has the figures; empty for the past.
	Strip  []figure
	Boards []board
	// Needs is what needs a user; nil if only the ledger is known.
	Needs *needsView
	// Activity are the newest events; empty for the past.
	Activity []eventView
	// More reports that not all environments are shown.
	More bool
	// AsOf is the point in time that is shown, zero for now. Now is the address of the current state, and Time chooses the moment.
	AsOf time.Time
	Now  string
	Time *timeBar
}

// maxActivity limits the newest events.
const maxActivity = 9

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
	view := fleetPage{More: all.Next != "", AsOf: asOf, Now: q.with("asOf", "")}
	if view.Time, err = s.timeBar(q, "", asOf); err != nil {
		return nil, err
	}
	if asOf.IsZero() {
		err = s.addCurrent(q, &view, all.Items)
	} else {
		view.Boards = s.boardsOf(q, all.Items, nil, nil)
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
func (s *site) addCurrent(q *pageRequest, view *fleetPage, environments []query.Environment) error {
	view.Unread = q.observer.Unread()
	if s.Alerts != nil && !q.observer.Scoped() { // alerts can name any repository
		view.Alerts = s.Alerts()
	}
	needs, err := s.allNeeds(q)
	if err != nil {
		return err
	}
	waiting := settlementsOf(needs)
	view.Needs = needs.first()
	applications, err := q.observer.Applications(q.Context(), query.ApplicationsQuery{Paging: query.Paging{Limit: query.MaxLimit}})
	if err != nil {
		return err
	}
	if view.Boards = s.boardsOf(q, environments, applications.Items, waiting); len(view.Boards) == 0 {
		return nil
	}
	if view.Strip, err = s.strip(q, environments); err != nil {
		return err
	}
	history, err := q.observer.History(q.Context(), query.HistoryQuery{Kinds: kinds, Paging: query.Paging{Limit: 6 * maxActivity}})
	if err != nil {
		return err
	}
	for _, group := range groupsOf(timelineOf(history.Items, "")) {
		if len(view.Activity) < maxActivity {
			view.Activity = append(view.Activity, group.eventView)
		}
	}
	return nil
}

// at makes the links lead to the same moment.
func (v *fleetPage) at(asOf time.Time) {
	for i := range v.Boards {
		b := &v.Boards[i]
		for j := range b.Columns {
			b.Columns[j].Address = pastOf(b.Columns[j].Address, asOf)
		}
		for _, row := range b.Rows {
			for j := range row.Cells {
				row.Cells[j].More, row.Cells[j].Notes = pastOf(row.Cells[j].More, asOf), nil
			}
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

// anchorOf returns the anchor of an environment. Several boards may have an environment of the same name.
func anchorOf(e query.Environment, board int) string {
	if board == 0 {
		return "environment-" + e.Name
	}
	return fmt.Sprintf("environment-%s-%d", e.Name, board+1)
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
		text := fmt.Sprintf("%s %s", line(e.Name), label(stateOf(e)))
		if g := gateOf(e.Gate, e.Commit, e.Phase); g != nil && g.Published == "" {
			text += fmt.Sprintf(", %s of %s", number(g.Counts.Reached), number(g.Counts.Counted))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// stateOf returns the most important state of an environment.
func stateOf(e query.Environment) any {
	switch {
	case e.Error != "":
		return "error"
	case e.Paused != nil:
		return "paused"
	}
	return e.Phase
}

// environmentAddresses returns the addresses of environments. They name the control plane if several have the same environment name.
func environmentAddresses(all []query.Environment) func(query.Environment) string {
	names := map[string]int{}
	for _, e := range all {
		names[e.Name]++
	}
	return func(e query.Environment) string {
		address := "/environments/" + url.PathEscape(e.Name)
		if names[e.Name] > 1 {
			address += "?controlPlane=" + url.QueryEscape(e.ControlPlane)
		}
		return address
	}
}
