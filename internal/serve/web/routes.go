package web

import (
	"slices"

	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// page is an entry of the routing table.
type page struct {
	// name is the folder of its template.
	name string
	// pattern is its path.
	pattern string
	// section is the address of its navigation entry; empty for none.
	section string
	show    func(*site, *pageRequest) (*pageResult, error)
}

// routes lists the pages.
var routes = []page{
	{"fleet", "/{$}", "/", (*site).fleet},
	{"fleet", "/environments", "/", (*site).fleet},
	{"needs", "/needs", "/needs", (*site).needs},
	{"environment", "/environments/{name}", "/", (*site).environment},
	{"explain", "/environments/{name}/explain", "/", (*site).explain},
	{"explain", "/environments/{name}/what-if", "/", (*site).whatIf},
	{"target", "/environments/{name}/targets/{target}", "/", (*site).target},
	{"cell", "/environments/{name}/targets/{target}/on/{clusterType}", "/", (*site).cell},
	{"map", "/map", "/map", (*site).fleetMap},
	{"workloads", "/workloads", "/workloads", (*site).workloads},
	{"workload", "/workloads/{name}", "/workloads", (*site).workload},
	{"clusters", "/clusters", "/clusters", (*site).clusters},
	{"cluster", "/clusters/{name}", "/clusters", (*site).cluster},
	{"promotions", "/promotions", "/promotions", (*site).promotions},
	{"promotion", "/promotions/{commit}", "/promotions", (*site).promotion},
	{"plan", "/plan", "/plan", (*site).plan},
	{"compare", "/compare", "/compare", (*site).compare},
	{"history", "/history", "/history", (*site).history},
	{"messages", "/history/messages", "/history", (*site).messages},
	{"figures", "/figures", "/figures", (*site).figures},
	{"search", "/search", "", (*site).search},
}

// inWorkspaces has the names of pages for which a role in workspaces is enough. They are made from [pageRequest.observer]. All other pages
// require a role of the server.
var inWorkspaces = map[string]bool{
	"fleet": true, "needs": true, "environment": true, "target": true, "cell": true, "map": true, "workloads": true, "workload": true, "clusters": true, "cluster": true,
	"promotions": true, "promotion": true, "compare": true, "history": true, "figures": true, "search": true,
}

// ruleOf returns the rule of a page.
func ruleOf(name string) access.Rule {
	return access.Rule{Role: access.Reader, Scoped: inWorkspaces[name]}
}

// sectionsOf returns the entries of the navigation that a user can open.
func sectionsOf(who access.Identity) []Link {
	return slices.DeleteFunc(Sections(), func(l Link) bool {
		return len(who.Grants) > 0 && slices.ContainsFunc(routes, func(p page) bool {
			return (p.pattern == l.Address || p.pattern == l.Address+"{$}") && ruleOf(p.name).Admit(who) != nil
		})
	})
}

// linksOf returns the further entries of the navigation that a user can open.
func (s *site) linksOf(who access.Identity) []Link {
	if len(who.Grants) > 0 && !who.Sees().All() {
		return nil
	}
	return s.links
}

// Sections returns the entries of the navigation, for other pages of the server.
func Sections() []Link { return slices.Clone(sections) }

// sections lists the entries of the navigation.
var sections = []Link{
	{"Fleet", "/"},
	{"Inbox", "/needs"},
	{"Map", "/map"},
	{"Workloads", "/workloads"},
	{"Clusters", "/clusters"},
	{"Promotions", "/promotions"},
	{"Activity", "/history"},
	{"Plan a change", "/plan"},
	{"Compare", "/compare"},
	{"Insights", "/figures"},
}
