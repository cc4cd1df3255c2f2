package web

import "slices"

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
	{"needs", "/needs", "/", (*site).needs},
	{"environment", "/environments/{name}", "/", (*site).environment},
	{"explain", "/environments/{name}/explain", "/", (*site).explain},
	{"explain", "/environments/{name}/what-if", "/", (*site).whatIf},
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

// Sections returns the entries of the navigation, for other pages of the server.
func Sections() []Link { return slices.Clone(sections) }

// sections lists the entries of the navigation.
var sections = []Link{
	{"Fleet", "/"},
	{"Map", "/map"},
	{"Workloads", "/workloads"},
	{"Clusters", "/clusters"},
	{"Promotions", "/promotions"},
	{"Plan", "/plan"},
	{"Compare", "/compare"},
	{"History", "/history"},
	{"Figures", "/figures"},
}
