package web

import (
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// matrixView is a table of targets and cluster types, in parts that browsers lay out only while visible.
type matrixView struct {
	Columns []matrixColumn
	Parts   []matrixPart
	// Shown of All targets match the filter.
	Shown, All int
	// Next is the address of the next page; empty on the last.
	Next string
	// Find, State and Workspace are the filter; Workspaces are its options.
	Find, State, Workspace string
	Workspaces             []string
	States                 []string
	// Linked reports that cells lead to their pages. A larger table would have too many links: those of its targets are enough.
	Linked bool
	// Past reports that the table is of an earlier time, of which only assignments are known.
	Past bool
	// Action is the form's address.
	Action string
	// Kept are parameters of the page that the form keeps.
	Kept []Link
}

type matrixColumn struct {
	Name, Address string
	// Raw is the name as it is written.
	Raw      string
	Clusters int
	// Offline counts its clusters of which nothing newer is known.
	Offline int
}

// matrixPart are some of the rows.
type matrixPart struct {
	From, To string
	Rows     []matrixRow
}

type matrixRow struct {
	Target, Workload, Workspace, Address, Wanted string
	// Text is what the filter searches.
	Text string
	// Explain is the address of the explanation on all cluster types; empty for the past.
	Explain string
	// Pin is set for a target that does not follow its environment.
	Pin   *deliver.PinnedTarget
	Cells template.HTML
}

const (
	// maxCells bounds the cells on one page.
	maxCells = 25_000
	// maxLinked bounds the cells that are links.
	maxLinked = 4000
	// rowsInPart is how many rows are laid out at once.
	rowsInPart = 25
)

// cellStates are the states of cells, the most important first. A cell has the first state that one of its clusters is in.
var cellStates = []string{"failed", "held", "missing", "progressing", "suspended", "ready", "added", "assigned"}

// matrix returns the table of an environment.
func (s *site) matrix(q *pageRequest, d *query.EnvironmentDetail, controlPlane string, asOf time.Time) (matrixView, error) {
	limit := min(query.MaxLimit, maxCells/max(1, len(d.ClusterTypes)))
	m, err := q.observer.Matrix(q.Context(), query.AssignmentsQuery{
		Environment: d.Name, ControlPlane: controlPlane, AsOf: asOf, Paging: q.paging(limit),
	})
	if err != nil {
		return matrixView{}, err
	}
	states := cellStates[:len(cellStates)-1]
	state, err := oneOf(q, "state", states...)
	if err != nil {
		return matrixView{}, err
	}
	v := matrixView{
		All: len(m.Rows), Find: q.text("find"), State: state, Workspace: q.text("workspace"), States: states,
		Past: !asOf.IsZero(), Action: q.URL.Path,
	}
	if m.Next != "" {
		v.Next = q.next(m.Next) + "#matrix"
	}
	for _, name := range []string{"controlPlane", "asOf"} {
		if value := q.text(name); value != "" {
			v.Kept = append(v.Kept, Link{name, value})
		}
	}
	if q.observer.Scoped() {
		controlPlane = "" // explanations name the things of others
	} else {
		controlPlane = d.ControlPlane
	}
	v.fill(d.Name, controlPlane, &m)
	for i := range v.Columns {
		for _, t := range d.ClusterTypes {
			if t.Name == v.Columns[i].Raw && !v.Past {
				v.Columns[i].Offline = t.States.Offline
			}
		}
	}
	return v, nil
}

// fill adds the rows that match the filter.
func (v *matrixView) fill(environment, controlPlane string, m *query.Matrix) {
	columns := map[string]int{}
	for i, c := range m.Columns {
		columns[c.ClusterType] = i
		v.Columns = append(v.Columns, matrixColumn{
			Name: line(c.ClusterType), Address: clustersAddress(environment, c.ClusterType, ""), Raw: c.ClusterType, Clusters: c.Clusters,
		})
	}
	words := strings.Fields(strings.ToLower(v.Find))
	v.Linked = v.cells(m, words) <= maxLinked
	explain := "/environments/" + url.PathEscape(environment) + "/explain?" + url.Values{"controlPlane": {controlPlane}}.Encode() + "&target="
	workspaces := map[string]bool{}
	for i := range m.Rows {
		r := &m.Rows[i]
		if r.Workspace != "" && !workspaces[r.Workspace] {
			workspaces[r.Workspace] = true
			v.Workspaces = append(v.Workspaces, r.Workspace)
		}
		row := rowOf(r)
		row.Address = targetAddress(environment, r.Target, v.kept()...)
		if !v.Past && controlPlane != "" {
			row.Explain = explain + url.QueryEscape(r.Target)
		}
		cells, states := cellsOf(r.Cells, columns, v.Past, linkOf(row.Address, v.Columns, v.Linked, row.Explain != ""))
		row.Cells = cells
		if !v.matches(row, words, states) {
			continue
		}
		v.add(row)
	}
	slices.Sort(v.Workspaces)
}

// kept returns the parameters that other pages about the same environment get.
func (v *matrixView) kept() []string {
	var pairs []string
	for _, k := range v.Kept {
		pairs = append(pairs, k.Name, k.Address)
	}
	return pairs
}

// cells returns how many cells the table has at most. It does not apply the filter of states, which depends on the cells.
func (v *matrixView) cells(m *query.Matrix, words []string) int {
	n := 0
	for i := range m.Rows {
		r := &m.Rows[i]
		text := strings.ToLower(line(r.Target) + " " + line(r.Workload) + " " + line(r.Workspace))
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) && (v.Workspace == "" || v.Workspace == r.Workspace) {
			n += len(m.Columns)
		}
	}
	return n
}

// linkOf returns what begins the link of a cell, by column; nil for cells without links. target is the page of the row's target. Where a target
// is not assigned, the page explains why; explained means that the user can read that.
func linkOf(target string, columns []matrixColumn, linked, explained bool) func(column int, assigned bool) string {
	if !linked || target == "" {
		return nil
	}
	page, parameters, _ := strings.Cut(target, "?")
	return func(i int, assigned bool) string {
		if !assigned && !explained {
			return ""
		}
		return `<a href="` + template.HTMLEscapeString(strings.TrimSuffix(page+"/on/"+url.PathEscape(columns[i].Raw)+"?"+parameters, "?")) + `"`
	}
}

func (v *matrixView) matches(row matrixRow, words []string, states map[string]bool) bool {
	for _, w := range words {
		if !strings.Contains(row.Text, w) {
			return false
		}
	}
	return (v.State == "" || states[v.State]) && (v.Workspace == "" || v.Workspace == row.Workspace)
}

func (v *matrixView) add(row matrixRow) {
	v.Shown++
	if n := len(v.Parts); n == 0 || len(v.Parts[n-1].Rows) == rowsInPart {
		v.Parts = append(v.Parts, matrixPart{From: row.Target})
	}
	part := &v.Parts[len(v.Parts)-1]
	part.To, part.Rows = row.Target, append(part.Rows, row)
}

func rowOf(r *query.Row) matrixRow {
	row := matrixRow{Target: line(r.Target), Workload: line(r.Workload), Workspace: r.Workspace, Wanted: line(r.Wanted), Pin: r.Pin}
	row.Text = strings.ToLower(row.Target + " " + row.Workload + " " + line(row.Workspace))
	return row
}

// cellsOf returns the cells of a row, one for each column, and their states. A page may have tens of thousands of cells,
// so they are not rendered with templates: they contain only numbers, constants and escaped links.
// link returns what begins the link of a column's cell, escaped; nil for none.
func cellsOf(cells []query.Cell, columns map[string]int, past bool, link func(int, bool) string) (template.HTML, map[string]bool) {
	places := make([]*query.Cell, len(columns))
	for i := range cells {
		if at, ok := columns[cells[i].ClusterType]; ok {
			places[at] = &cells[i]
		}
	}
	var out strings.Builder
	states := map[string]bool{}
	for i, c := range places {
		begin := ""
		if link != nil {
			begin = link(i, c != nil)
		}
		if c == nil {
			out.WriteString("<td>")
			if begin != "" {
				out.WriteString(begin + ` aria-label="not assigned"></a>`)
			}
			continue
		}
		state := cellState(c, past)
		states[state] = true
		writeCell(&out, c, state, begin)
	}
	return template.HTML(out.String()), states //nolint:gosec // numbers, constants and escaped links
}

// cellState returns the most important state of a cell.
func cellState(c *query.Cell, past bool) string {
	n := c.States
	switch {
	case past:
		return "assigned"
	case n.Failed > 0:
		return "failed"
	case c.Held:
		return "held"
	case c.Pending == plan.Added && n.Ready+n.Progressing == 0:
		return "added"
	case n.Missing > 0:
		return "missing"
	case n.Progressing > 0:
		return "progressing"
	case n.Suspended > 0:
		return "suspended"
	case n.Ready > 0:
		return "ready"
	}
	return "assigned"
}

// shaded returns the class of a cell, as an attribute's value: 1 cluster of 100 is not as bad as 100 of 100.
func shaded(tone, state string, some, expected int) string {
	switch {
	case state == "ready" || some == 0:
		return tone
	case 4*some < expected:
		return `"` + tone + ` few"`
	case some >= expected && state == "failed":
		return `"` + tone + ` all"`
	}
	return tone
}

// writeCell writes a cell: its color, a symbol, and how many of its clusters are in the state.
// link begins its link; empty for none.
func writeCell(out *strings.Builder, c *query.Cell, state, link string) {
	n := c.States
	some := map[string]int{"failed": n.Failed, "missing": n.Missing, "progressing": n.Progressing, "suspended": n.Suspended, "ready": n.Ready}[state]
	m := styleOf(state)
	out.WriteString(`<td class=`)
	out.WriteString(shaded(m.tone, state, some, n.Expected))
	if state == "ready" && n.Ready == n.Expected && c.Pending == "" {
		if out.WriteByte('>'); link != "" { // the common case: the symbol is enough
			out.WriteString(link + ` aria-label="ready">` + m.symbol + "</a>")
		} else {
			out.WriteString(m.symbol)
		}
		return
	}
	if link != "" {
		out.WriteString(">" + link)
	}
	out.WriteString(` aria-label="`)
	out.WriteString(m.label)
	if some > 0 {
		out.WriteByte(' ')
		out.WriteString(strconv.Itoa(some))
		out.WriteString(" of ")
		out.WriteString(strconv.Itoa(max(some, n.Expected)))
	}
	pending, ok := stateStyles[string(c.Pending)]
	ok = ok && state != "added"
	switch {
	case ok:
		out.WriteString(", to be " + string(c.Pending))
	case some == 0 && n.Expected > 0:
		out.WriteString(", " + count(n.Expected, "cluster"))
	}
	out.WriteString(`">`)
	out.WriteString(m.symbol)
	if some > 0 && (state != "ready" || some < n.Expected) {
		out.WriteString(strconv.Itoa(some))
	}
	if ok {
		out.WriteString("<sup>" + pending.symbol + "</sup>")
	}
	if link != "" {
		out.WriteString("</a>")
	}
}
