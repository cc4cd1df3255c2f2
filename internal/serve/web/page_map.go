package web

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// mapPage shows where workloads run, as a drawing and as tables.
type mapPage struct {
	query.Map
	// Environments are those of the server, each with the address of its map.
	Environments []Link
	// States has the number of clusters in each state, without empty ones; State, Workload and so on are the filter.
	States                            []mapStateLink
	State, Workload, Workspace, Label string
	AllStates                         []query.MapState
	WorkloadChoices, WorkspaceChoices choices
	// Chosen are the filters in force, each with the address without it, and with its page.
	Chosen  []mapFilter
	Kept    []Link
	Drawing drawing
	// Summary is the drawing in a sentence.
	Summary string
	Tables  []mapTable
	// Urgent are the first clusters of the table. AllClusters is the address of the list.
	Urgent      []mapClusterRow
	AllClusters string
	// Cluster is the selected cluster; nil without one.
	Cluster *query.MapCluster
}

// mapStateLink is a number of clusters in a state.
type mapStateLink struct {
	stateCount
	Address string
}

// mapFilter is a filter in force.
type mapFilter struct {
	What, Name string
	// Without is the address of the map without it, and Page that of its own page; empty if it has none.
	Without, Page string
}

// mapTable has the nodes of a column.
type mapTable struct {
	ID, Title, Counted string
	Rows               []mapRow
	// More is how many nodes are not shown.
	More int
}

type mapRow struct {
	query.MapNode
	State any
	// Address is that of the map of this node, and Page that of its own page; empty if it has none.
	Address, Page string
	Text          string
}

// mapClusterRow is a cluster in the table.
type mapClusterRow struct {
	query.MapCluster
	Address string
	// Why explains the state.
	Why string
}

const (
	// maxMapRows limits the rows of each table.
	maxMapRows = 200
	// maxUrgent limits the rows of the table of clusters.
	maxUrgent = 50
	// maxLabels limits the labels in an address.
	maxLabels = 16
)

func (s *site) fleetMap(q *pageRequest) (*pageResult, error) {
	names, err := s.environmentNames(q)
	if err != nil {
		return nil, err
	}
	if q.text("environment") == "" {
		if len(names) > 0 {
			return &pageResult{title: "Map", to: q.with("environment", lastEnvironment(q, names))}, nil
		}
		return &pageResult{title: "Map", value: query.Map{}, view: mapPage{}, concerns: []string{operations("environments/")}}, nil
	}
	ask, err := mapQueryOf(q)
	if err != nil {
		return nil, err
	}
	if ask.ControlPlane, err = s.choose(q, ask.Environment); err != nil {
		return nil, err
	}
	m, err := q.observer.Map(q.Context(), ask)
	if err != nil {
		return nil, err
	}
	view := mapPageOf(q, &m, &ask)
	workloads, err := s.ledgerNames(q, ledger.NameWorkload)
	if err != nil {
		return nil, err
	}
	_, workspaces := s.snapshotNames(q)
	view.WorkloadChoices, view.WorkspaceChoices = choicesOf("Workload", "workload", ask.Workload, workloads), choicesOf("Workspace", "workspace", ask.Workspace, workspaces)
	for _, name := range names {
		view.Environments = append(view.Environments, Link{name, "/map?environment=" + url.QueryEscape(name)})
	}
	return &pageResult{
		title: "Map of " + line(m.Environment), value: m, view: view, summary: view.Summary,
		concerns: []string{operations("environments/" + url.PathEscape(m.Environment)), operations("clusters/")},
	}, nil
}

// lastEnvironment returns the environment that is shown first: the last one of a chain, which most depends on.
func lastEnvironment(q *pageRequest, names []string) string {
	last := names[len(names)-1]
	for _, standing := range q.observer.Standings() {
		if standing.Promotion != nil {
			last = standing.Environment
		}
	}
	return last
}

// mapQueryOf returns the query of an address.
func mapQueryOf(q *pageRequest) (query.MapQuery, error) {
	ask := query.MapQuery{
		Environment: q.text("environment"), Workload: q.text("workload"), Workspace: q.text("workspace"), Policy: q.text("policy"),
		ClusterType: q.text("clusterType"), Ring: q.text("ring"), Cluster: q.text("cluster"), Paging: q.paging(query.MaxLimit),
	}
	var err error
	if ask.State, err = oneOf(q, "state", query.MapStates()...); err != nil {
		return ask, err
	}
	for _, pair := range labelsOf(q) {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return ask, fmt.Errorf("%w: label %.60q does not have the form name=value", ledger.ErrInvalid, pair)
		}
		if ask.Labels == nil {
			ask.Labels = map[string]string{}
		}
		ask.Labels[name] = value
	}
	return ask, nil
}

// labelsOf returns the labels of an address: each parameter has one or more, separated by spaces or commas.
func labelsOf(q *pageRequest) []string {
	text := strings.Join(q.URL.Query()["label"], " ")
	pairs := strings.FieldsFunc(text[:min(len(text), maxText)], func(r rune) bool { return r == ' ' || r == ',' })
	return pairs[:min(len(pairs), maxLabels)]
}

// mapPageOf prepares a map.
func mapPageOf(q *pageRequest, m *query.Map, ask *query.MapQuery) mapPage {
	address := mapAddress(q.URL.Query())
	v := mapPage{
		Map: *m, State: string(ask.State), Workload: ask.Workload, Workspace: ask.Workspace, Label: strings.Join(labelsOf(q), " "),
		AllStates: query.MapStates(), Drawing: drawMap(m, address),
		Summary: fmt.Sprintf("%s of %s, %s, %s: %s", count(m.Counts.Total, "cluster"), line(m.Environment), count(m.ClusterTypes.Total, "cluster type"),
			count(m.Workloads.Total, "workload"), countsText(m.Counts)),
	}
	for _, s := range query.MapStates() {
		if n := m.Counts.Of(s); n > 0 {
			v.States = append(v.States, mapStateLink{stateCount{s, n}, address("state", string(s))})
		}
	}
	pages := mapPages(m.Environment)
	for _, f := range []struct{ what, parameter, name string }{
		{"Workload", "workload", ask.Workload},
		{"Workspace", "workspace", ask.Workspace},
		{"Policy", "policy", ask.Policy},
		{"Cluster type", "clusterType", ask.ClusterType},
		{"Ring", "ring", ask.Ring},
		{"Cluster", "cluster", ask.Cluster},
		{"State", "state", string(ask.State)},
		{"Label", "label", v.Label},
	} {
		if f.name != "" {
			v.Chosen = append(v.Chosen, mapFilter{f.what, line(f.name), address(f.parameter, ""), pages(f.parameter, f.name)})
		}
	}
	for _, name := range []string{"environment", "controlPlane", "policy", "clusterType", "ring", "cluster"} {
		if value := q.text(name); value != "" {
			v.Kept = append(v.Kept, Link{name, value})
		}
	}
	for _, t := range []struct {
		parameter, title, counted string
		nodes                     query.MapNodes
	}{
		{"workload", "Workloads", "Clusters, for each target", m.Workloads},
		{"policy", "Policies", "Clusters, for each target", m.Policies},
		{"clusterType", "Cluster types", "Clusters", m.ClusterTypes},
		{"ring", "Rings", "Clusters", m.Rings},
	} {
		if len(t.nodes.Items) > 0 {
			v.Tables = append(v.Tables, mapTableOf(t.parameter, t.title, t.counted, t.nodes, address, pages))
		}
	}
	for _, c := range m.Clusters[:min(len(m.Clusters), maxUrgent)] {
		v.Urgent = append(v.Urgent, mapClusterRow{c, address("cluster", c.Name), stateReason(&c)})
	}
	v.AllClusters = clustersAddress(m.Environment, ask.ClusterType, "")
	if ask.Cluster != "" && len(m.Clusters) > 0 {
		v.Cluster = &m.Clusters[0]
	}
	return v
}

// mapPages returns the address of the page of a node; empty if it has none.
func mapPages(environment string) addresses {
	return func(parameter, name string) string {
		switch parameter {
		case "workload":
			return "/workloads/" + url.PathEscape(name)
		case "clusterType":
			return clustersAddress(environment, name, "")
		case "ring":
			return "/history?environment=" + url.QueryEscape(environment) + "&ring=" + url.QueryEscape(name)
		case "cluster":
			return "/clusters/" + url.PathEscape(name)
		case "policy":
			return "/environments/" + url.PathEscape(environment)
		}
		return ""
	}
}

func mapTableOf(parameter, title, counted string, nodes query.MapNodes, address, pages addresses) mapTable {
	t := mapTable{ID: parameter + "-table", Title: title, Counted: counted, More: nodes.Total - min(len(nodes.Items), maxMapRows)}
	for _, n := range nodes.Items[:min(len(nodes.Items), maxMapRows)] {
		t.Rows = append(t.Rows, mapRow{n, nodeState(n), address(parameter, n.Name), pages(parameter, n.Name), countsText(n.Counts)})
	}
	return t
}

// stateReason explains the state of a cluster.
func stateReason(c *query.MapCluster) string {
	var parts []string
	if c.Reason != "" {
		parts = append(parts, c.Reason)
	}
	if n := c.Targets.Failed; n > 0 {
		names := strings.Join(c.Failed, ", ")
		if n > len(c.Failed) {
			names += fmt.Sprintf(" and %d more", n-len(c.Failed))
		}
		parts = append(parts, "failed: "+names)
	}
	for _, s := range []query.MapState{query.MapMissing, query.MapBehind, query.MapSuspended, query.MapUnknown} {
		if n := c.Targets.Of(s); n > 0 {
			parts = append(parts, count(n, "target")+" "+label(s))
		}
	}
	return strings.Join(slices.Clip(parts), "; ")
}
