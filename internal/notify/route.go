package notify

import (
	"path"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/notify/message"
)

// Route selects events for receivers. Empty fields match all events; patterns are those of [path.Match].
type Route struct {
	Receivers []string // required
	// Environments are patterns. One that matches an environment matches its rings, too.
	Environments []string
	// Workloads and Workspaces are patterns. They match no event of a control plane.
	Workloads  []string
	Workspaces []string
	Kinds      []message.Kind
	// Severity is the lowest one. Empty matches all.
	Severity message.Severity
}

// Matches reports whether the route selects an event.
func (r *Route) Matches(e message.Event) bool {
	environment, _, _ := strings.Cut(e.Environment, "/")
	return (matches(r.Environments, e.Environment) || matches(r.Environments, environment)) &&
		matches(r.Workloads, e.Workload) && matches(r.Workspaces, e.Workspace) &&
		(len(r.Kinds) == 0 || slices.Contains(r.Kinds, e.Kind)) &&
		(r.Severity != message.Error || e.Kind.Severity() == message.Error)
}

// matches reports whether a pattern matches a name, or there are none. A name that is empty matches none.
func matches(patterns []string, name string) bool {
	return len(patterns) == 0 || name != "" && slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}

// receivers returns the receivers of an event: those of all routes that select it, each once.
func receivers(routes []Route, e message.Event) []string {
	var all []string
	for i := range routes {
		if !routes[i].Matches(e) {
			continue
		}
		for _, name := range routes[i].Receivers {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}
