package web

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// graph draws a chain of environments from left to right.
type graph struct {
	Width, Height int
	Nodes         []node
	Edges         []edge
}

// node is an environment. X and Y are its upper left corner.
type node struct {
	X, Y, Width, Height int
	Name, Address       string
	// Label is for screen readers.
	Label string
	State any
	// Commit and Gate are the texts below the name.
	Commit, Gate string
	Parts        []barPart
}

// edge leads from one environment to the next, as paths of an SVG: a line and its tip.
type edge struct {
	Path, Tip string
	// Waits reports that a commit waits to be promoted along the edge.
	Waits bool
}

// Sizes in pixels.
const (
	nodeWidth, nodeHeight = 176, 84
	gapX, gapY            = 56, 16
	margin                = 2
)

// graphOf draws environments of one control plane, with links to their pages.
func graphOf(environments []query.Environment, address func(query.Environment) string) graph {
	columns := columnsOf(environments)
	var g graph
	at := map[string]node{}
	for x, column := range columns {
		for y, e := range column {
			n := nodeOf(e)
			n.Address = address(e)
			n.X, n.Y = margin+x*(nodeWidth+gapX), margin+y*(nodeHeight+gapY)
			at[e.Name] = n
			g.Nodes = append(g.Nodes, n)
			g.Width, g.Height = max(g.Width, n.X+nodeWidth+margin), max(g.Height, n.Y+nodeHeight+margin)
		}
	}
	for _, e := range environments {
		for _, before := range e.After {
			if from, ok := at[before]; ok && from.X < at[e.Name].X {
				g.Edges = append(g.Edges, edgeOf(from, at[e.Name], e.Candidate != ""))
			}
		}
	}
	return g
}

// columnsOf puts every environment to the right of those it comes after. Environments in a cycle, which are reported as problems,
// come last.
func columnsOf(environments []query.Environment) [][]query.Environment {
	known, depth := map[string]bool{}, map[string]int{}
	for _, e := range environments {
		known[e.Name] = true
	}
	for range environments { // no path is longer
		for _, e := range environments {
			for _, before := range e.After {
				if known[before] {
					depth[e.Name] = min(max(depth[e.Name], depth[before]+1), len(environments)-1)
				}
			}
		}
	}
	var columns [][]query.Environment
	sorted := slices.Clone(environments)
	slices.SortStableFunc(sorted, func(a, b query.Environment) int { return cmp.Compare(depth[a.Name], depth[b.Name]) })
	for i, e := range sorted {
		if i == 0 || depth[e.Name] != depth[sorted[i-1].Name] {
			columns = append(columns, nil)
		}
		columns[len(columns)-1] = append(columns[len(columns)-1], e)
	}
	return columns
}

// maxDetailLine is how many characters fit in the line below the state.
const maxDetailLine = 19

// shorten shortens the line below the state if it is too long.
func (n *node) shorten(empty bool) {
	if len(n.Commit)+len(n.Gate) <= maxDetailLine {
		return
	}
	n.Gate = strings.ReplaceAll(n.Gate, " of ", "/")
	if empty {
		n.Commit = "none yet"
	}
}

func nodeOf(e query.Environment) node {
	n := node{
		Width: nodeWidth, Height: nodeHeight, Name: truncate(line(e.Name), 18), State: stateOf(e),
		Commit: cmp.Or(short(e.Commit), "no commit yet"),
	}
	if e.Gate != nil {
		gate := gateOf(e.Gate, e.Commit, e.Phase)
		n.Parts = gate.Parts
		if gate.Published == "" { // else the count would be of another commit
			n.Gate = fmt.Sprintf("%d of %d", e.Gate.Counts.Reached, e.Gate.Counts.Counted)
		}
	}
	n.shorten(e.Commit == "")
	// The label contains the visible text, so that users of voice control can say what they see.
	n.Label = fmt.Sprintf("%s %s %s", line(e.Name), label(n.State), n.Commit)
	if n.Gate != "" {
		n.Label += " " + n.Gate + " clusters run it"
	}
	return n
}

// edgeOf draws a curve from the right side of one node to the left side of another.
func edgeOf(from, to node, waits bool) edge {
	x1, y1 := from.X+nodeWidth, from.Y+nodeHeight/2
	x2, y2 := to.X-8, to.Y+nodeHeight/2
	bend := (x2 - x1) / 2
	return edge{
		Path:  fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, x1+bend, y1, x2-bend, y2, x2, y2),
		Tip:   fmt.Sprintf("M%d %dl-8 -5v10z", to.X-1, y2),
		Waits: waits,
	}
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
