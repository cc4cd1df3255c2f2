package web

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// someMap returns a map of clusters of some types in two rings, of which the first ones failed.
func someMap(types, clusters, failed int) *query.Map {
	m := &query.Map{Environment: "prod"}
	for i := range types {
		name := fmt.Sprintf("type-%d", i)
		ring := []string{"canary", "broad"}[i%2]
		c := query.MapCounts{Total: clusters, Failed: failed, Ready: clusters - failed}
		m.ClusterTypes.Items = append(m.ClusterTypes.Items, query.MapNode{Name: name, Assignments: 1, Counts: c})
		m.PolicyTypes = append(m.PolicyTypes, query.MapLink{From: "everywhere", To: name, Counts: c})
		m.TypeRings = append(m.TypeRings, query.MapLink{From: name, To: ring, Counts: c})
		m.Counts = m.Counts.Plus(c)
		for k := range failed {
			m.Clusters = append(m.Clusters, query.MapCluster{Name: fmt.Sprintf("%s-%d", name, k), ClusterType: name, Ring: ring, State: query.MapFailed})
		}
	}
	m.ClusterTypes.Total = types
	m.Workloads = query.MapNodes{Total: 1, Items: []query.MapNode{{Name: "shop", Assignments: types, Counts: m.Counts}}}
	m.Policies = query.MapNodes{Total: 1, Items: []query.MapNode{{Name: "everywhere", Assignments: types, Counts: m.Counts}}}
	m.WorkloadPolicies = []query.MapLink{{From: "shop", To: "everywhere", Counts: m.Counts}}
	m.Rings = query.MapNodes{Total: 2, Items: []query.MapNode{{Name: "canary"}, {Name: "broad", Counts: m.Counts}}}
	return m
}

var cellRun = regexp.MustCompile(`h(\d+)`)

// cellsIn counts the cells of dashed lines.
func cellsIn(d drawing) (n int) {
	for _, g := range d.Groups {
		for _, l := range g.Lines {
			for _, run := range cellRun.FindAllStringSubmatch(l.Path, -1) {
				var width int
				fmt.Sscan(run[1], &width)
				n += (width + d.Gap) / (d.Cell + d.Gap)
			}
		}
	}
	return n
}

// TestEveryClusterIsDrawnOnce checks the number of cells for fleets of several sizes.
func TestEveryClusterIsDrawnOnce(t *testing.T) {
	for _, size := range []struct{ types, clusters, failed int }{{1, 1, 0}, {1, 1, 1}, {3, 20, 2}, {7, 100, 60}, {100, 100, 1}, {300, 40, 0}} {
		m := someMap(size.types, size.clusters, size.failed)
		d := drawMap(m, mapAddress(url.Values{}))
		named := strings.Count(string(d.Cells), "<a ")
		if named != len(m.Clusters) || named+cellsIn(d) != m.Counts.Total {
			t.Errorf("%+v: %d cells with links and %d without, want %d and %d", size, named, cellsIn(d), len(m.Clusters), m.Counts.Total-len(m.Clusters))
		}
	}
}

// TestNothingOverlaps checks that all parts of a drawing are inside it, and that no two nodes, nor two groups, lie on each other.
func TestNothingOverlaps(t *testing.T) {
	m := someMap(50, 90, 30)
	for i := range 200 {
		m.Workloads.Items = append(m.Workloads.Items, query.MapNode{Name: fmt.Sprintf("workload-%d", i), Counts: query.MapCounts{Total: 1, Ready: 1}})
		m.Workloads.Total++
	}
	d := drawMap(m, mapAddress(url.Values{}))
	type box struct {
		name       string
		x, y, w, h int
	}
	var all []box
	for _, n := range d.Nodes {
		all = append(all, box{n.Name, n.X, n.Y, n.Width, n.Height})
	}
	for _, g := range d.Groups {
		all = append(all, box{g.Label, g.X, g.Y, g.Width, g.Height})
	}
	for i, a := range all {
		if a.x < 0 || a.y < 0 || a.x+a.w > d.Width || a.y+a.h > d.Height {
			t.Errorf("%+v is outside", a)
		}
		for _, b := range all[i+1:] {
			if a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h {
				t.Errorf("%+v is on %+v", a, b)
			}
		}
	}
}

// TestTheMostUrgentNodesAreDrawn checks that a failed workload among many has a node of its own, in natural order, and that all others
// are one node.
func TestTheMostUrgentNodesAreDrawn(t *testing.T) {
	var all query.MapNodes
	for i := range 100 {
		n := query.MapNode{Name: fmt.Sprintf("w-%d", i), Assignments: 1, Counts: query.MapCounts{Total: 2, Ready: 2}}
		switch i {
		case 90:
			n.Counts = query.MapCounts{Total: 2, Failed: 1, Ready: 1}
		case 80:
			n.Held = 1
		}
		all.Items = append(all.Items, n)
	}
	all.Total = 100
	folded := foldNodes(all, 4)
	var got []string
	for _, n := range folded {
		got = append(got, fmt.Sprintf("%s+%d %v", n.Name, n.more, nodeState(n.MapNode)))
	}
	if want := "w-0+0 ready, w-80+0 held, w-90+0 failed, +97 ready"; strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
	if folded[3].Counts.Total != 194 {
		t.Errorf("the others count %d clusters, want 194", folded[3].Counts.Total)
	}
}

// TestFlowsShowFailures checks that a link on which something failed is drawn on top.
func TestFlowsShowFailures(t *testing.T) {
	links := []query.MapLink{
		{From: "a", To: "x", Counts: query.MapCounts{Total: 100, Failed: 1, Ready: 99}},
		{From: "b", To: "x", Counts: query.MapCounts{Total: 4, Ready: 4}},
		{From: "c", To: "gone", Counts: query.MapCounts{Total: 4, Ready: 4}},
	}
	got := flowsOf(links, map[string]int{"a": 10, "b": 20, "c": 30}, map[string]int{"x": 15}, 0, 100)
	if len(got) != 2 || got[0].Tone != "" || got[0].Width != 1 || got[1].Tone != bad || got[1].Width != 5 || got[1].Path != "M0 10C50 10 50 15 100 15" {
		t.Errorf("got %+v", got)
	}
}
