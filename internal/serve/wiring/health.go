package wiring

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/web"
)

// overdueAfter is how long an environment may be without a successful round. The alert in deploy/grafana/alerts.yaml has the same time.
const overdueAfter = 30 * time.Minute

// health returns what is wrong with the server. Metrics have the details.
func (s *Server) health() serve.Health {
	var h serve.Health
	if s.recognition.waiting() {
		h.Unready = append(h.Unready, "the ledger is not the one that was used with the data folder: nothing is done until an administrator accepts it")
	}
	if s.disk.full() {
		h.Unready = append(h.Unready, "the disk is full: reports and commands cannot be stored")
	}
	if !s.pulse.away().IsZero() {
		h.Unready = append(h.Unready, "the ledger's database does not answer: reports and commands cannot be stored, and nothing can be read")
	}
	if s.API != nil && s.API.DeliveriesRefused != "" {
		h.Warnings = append(h.Warnings, s.API.DeliveriesRefused)
	}
	if n := len(s.Flows.Client.Unavailable()); n > 0 {
		h.Warnings = append(h.Warnings, counted(n, "repository does", "repositories do")+
			" not answer in time; the metric kalypso_source_unavailable_timestamp_seconds names them")
	}
	for _, g := range s.graphs {
		if g.failing() {
			h.Warnings = append(h.Warnings, fmt.Sprintf("Azure Resource Graph (%s) cannot be read; the log has the reason", g.config.Title()))
		}
	}
	if n := len(s.server.Keeper.Overdue(overdueAfter)); n > 0 {
		h.Warnings = append(h.Warnings, counted(n, "environment has", "environments have")+
			" had no successful round for half an hour; the metric kalypso_scheduled_timestamp_seconds names them")
	}
	return h
}

// alerts returns the same for the page of the fleet, with names and causes.
func (s *Server) alerts() []web.Alert {
	var all []web.Alert
	if r := s.recognition; r.waiting() {
		all = append(all, web.Alert{What: "The server does nothing: " + r.what(), Since: r.since, Next: "To continue, " + r.next()})
	}
	if s.disk.full() {
		all = append(all, web.Alert{
			What: "The server's disk is full: reports and commands cannot be stored",
			Next: "Free space on the disk of the data folder and of the ledger. Agents keep their reports and send them again.",
		})
	}
	if since := s.pulse.away(); !since.IsZero() {
		all = append(all, web.Alert{
			What: "The ledger's database does not answer: reports and commands cannot be stored", Since: since,
			Next: "Check the database and the connection to it. Agents keep their reports and send them again.",
		})
	}
	all = append(all, sourceAlerts(s.Flows.Client.Unavailable())...)
	for _, g := range s.graphs {
		all = append(all, g.alerts()...)
	}
	return append(all, overdueAlerts(s.server.Keeper.Overdue(overdueAfter))...)
}

// sourceAlerts groups repositories that do not answer by the cause.
func sourceAlerts(all []git.Unavailable) []web.Alert {
	return grouped(all, func(u git.Unavailable) string { return strings.ReplaceAll(u.Err.Error(), u.Repository, "") }, func(same []git.Unavailable) web.Alert {
		a := web.Alert{
			What: counted(len(same), "repository does", "repositories do") + " not answer in time: " + names(same, func(u git.Unavailable) string { return ledger.CleanRepository(u.Repository) }),
			Why:  same[0].Err.Error(), Since: same[0].Since,
			Next: "Assignments that need it keep their published files, and Kalypso tries again. Check the repository and the connection to it.",
		}
		for _, u := range same {
			if u.Since.Before(a.Since) {
				a.Since = u.Since
			}
		}
		return a
	})
}

// overdueAlerts groups environments without successful rounds by control plane.
func overdueAlerts(all []serve.Overdue) []web.Alert {
	return grouped(all, func(o serve.Overdue) string { return o.ControlPlane }, func(same []serve.Overdue) web.Alert {
		oldest := slices.MinFunc(same, func(a, b serve.Overdue) int { return a.Since.Compare(b.Since) })
		return web.Alert{
			What:  counted(len(same), "environment has", "environments have") + " had no successful round: " + names(same, func(o serve.Overdue) string { return o.Environment }),
			Since: oldest.Since,
			Next:  "The card of the environment has the error of its last round; the server's log has those of all rounds.",
		}
	})
}

// grouped returns one alert for all things with the same key, in the order of their first ones.
func grouped[T any](all []T, key func(T) string, alert func([]T) web.Alert) []web.Alert {
	index := map[string]int{}
	var groups [][]T
	for _, one := range all {
		at, known := index[key(one)]
		if !known {
			at = len(groups)
			index[key(one)] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], one)
	}
	alerts := make([]web.Alert, len(groups))
	for i, same := range groups {
		alerts[i] = alert(same)
	}
	return alerts
}

// maxNames is how many names an alert lists.
const maxNames = 5

func names[T any](all []T, name func(T) string) string {
	var list []string
	for _, one := range all[:min(len(all), maxNames)] {
		list = append(list, name(one))
	}
	text := strings.Join(list, ", ")
	if more := len(all) - len(list); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func counted(n int, one, many string) string {
	if n == 1 {
		many = ""
	}
	return fmt.Sprintf("%d %s", n, cmp.Or(many, one))
}

// clusterObject returns the cluster type in the Cluster object of a cluster, as of the last round of its environment.
func (s *Server) clusterObject(environment, cluster string) (string, bool) {
	for _, cp := range s.Flows.board.ControlPlanes() {
		round := cp.Scheduling[environment]
		if round == nil || round.Snapshot == nil {
			continue
		}
		if c := round.Snapshot.Cluster(cluster); c != nil {
			return c.Type, true
		}
	}
	return "", false
}

// serves returns the cluster types of each environment; nil until all control planes were read. An environment without a
// successful round has no list.
func (s *Server) serves() map[string][]string {
	read := s.Flows.board.ControlPlanes()
	if len(read) == 0 {
		return nil // before the end of the first round
	}
	known := map[string][]string{}
	for _, cp := range read {
		if cp.Err != nil || cp.Environments == nil {
			return nil
		}
		for _, name := range cp.Environments {
			before, twice := known[name]
			round := cp.Scheduling[name]
			if round == nil || round.Snapshot == nil || twice && before == nil {
				known[name] = nil
				continue
			}
			types := append([]string{}, before...) // of another control plane
			for _, ct := range round.Snapshot.ClusterTypes {
				types = append(types, ct.Name)
			}
			slices.Sort(types)
			known[name] = slices.Compact(types)
		}
	}
	return known
}
