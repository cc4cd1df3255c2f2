package web

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// drawing is the map of an environment: columns of workloads, policies and cluster types with links between them, and right of each
// cluster type a field with a cell for each of its clusters, in columns for rings.
type drawing struct {
	Width, Height int
	Heads         []mapHead
	Nodes         []mapNode
	// Flows are links, those that matter last, so that they are on top.
	Flows  []flow
	Groups []mapGroup
	// Cells are clusters with a link of their own.
	Cells template.HTML
	// Cell is the size of a cell, and Gap the space after it. Of few clusters, cells are wider, and have names.
	Cell, Gap int
}

// mapHead is the title of a column.
type mapHead struct {
	X       int
	Text    string
	Address string
	State   query.MapState
	// Note is a number below the title.
	Note string
}

// mapNode is a workload, policy or cluster type. X and Y are its upper left corner.
type mapNode struct {
	X, Y, Width, Height int
	Name, Note          string
	// Label is for screen readers.
	Label, Address string
	// State is a [query.MapState], or "held".
	State any
	Parts []barPart
	// Band is the width of the band behind the clusters of a cluster type; 0 for other nodes.
	Band int
}

// flow are links with the same tone and width, as one path.
type flow struct {
	Path, Tone string
	Width      int
}

// mapGroup are the clusters of a type in a ring. Lines are those without links of their own.
type mapGroup struct {
	X, Y, Width, Height int
	Label, Address      string
	Lines               []cellLine
}

// cellLine are cells of the same tone, as dashed lines: a line is many times smaller than its cells.
type cellLine struct{ Path, Tone string }

// Sizes in pixels.
const (
	workloadsX, workloadsWidth = 1, 180
	policiesX, policiesWidth   = 235, 152
	typesX, typesWidth         = 441, 152
	fieldX, fieldWidth         = 604, 598
	mapWidth                   = 1204 // with its frame, it fits a window of 1280 pixels with a scrollbar
	headHeight                 = 44
	mapNodeHeight              = 28
	rowGap, ringGap            = 5, 10
	// maxColumn is how many nodes of a column are drawn one by one, and maxRows how many cluster types.
	maxColumn, maxRows = 28, 120
	// bigCell is the least size of a cell with a symbol, and bigLines how many lines of them a group has.
	bigCell, bigLines = 17, 3
	// maxCards is up to how many clusters cells are wide enough for their names.
	maxCards, cardWidth = 60, 146
)

// addresses returns the address of the map with another value of a parameter.
type addresses func(name, value string) string

// drawMap draws a map. The result depends only on its arguments. Nodes and clusters keep their places while their states change, except
// that clusters that are not ready come first.
func drawMap(m *query.Map, address addresses) drawing {
	d := drawing{Width: mapWidth}
	pitch := pitchOf(m.Counts.Total)
	d.Gap = 1
	if pitch > 10 {
		d.Gap = 2
	}
	d.Cell = pitch - d.Gap
	f := field{drawing: &d, pitch: pitch, address: address, m: m, rowOf: map[string]int{}}
	f.columns()
	f.rows()
	workloads := column{x: workloadsX, width: workloadsWidth, parameter: "workload", thing: "workload", nodes: foldNodes(m.Workloads, maxColumn)}
	policies := column{x: policiesX, width: policiesWidth, parameter: "policy", thing: "policy", things: "policies", nodes: foldNodes(m.Policies, maxColumn)}
	if len(m.Policies.Items) == 0 && len(m.PolicyTypes) > 0 {
		unknown := query.MapNode{}
		for _, l := range m.PolicyTypes {
			unknown.Counts = unknown.Counts.Plus(l.Counts)
			unknown.Assignments++
		}
		policies.nodes = []foldedNode{{MapNode: unknown, of: []string{""}}}
	}
	d.Height = max(d.Height, headHeight+workloads.least(), headHeight+policies.least())
	d.Heads = append(d.Heads,
		mapHead{X: workloadsX, Text: "Workloads", Note: fmt.Sprint(m.Workloads.Total)},
		mapHead{X: policiesX, Text: "Policies", Note: fmt.Sprint(m.Policies.Total)},
		mapHead{X: typesX, Text: "Cluster types", Note: fmt.Sprint(m.ClusterTypes.Total)})
	left, middle := workloads.place(&d, address), policies.place(&d, address)
	d.Flows = append(
		flowsOf(m.WorkloadPolicies, left, middle, workloadsX+workloadsWidth, policiesX),
		flowsOf(m.PolicyTypes, middle, f.middles(), policiesX+policiesWidth, typesX)...)
	return d
}

// pitchOf returns the distance of cells: the more clusters, the smaller.
func pitchOf(clusters int) int {
	switch {
	case clusters <= 60:
		return 26
	case clusters <= 300:
		return 19
	case clusters <= 1000:
		return 14
	case clusters <= 3000:
		return 9
	}
	return 7
}

// foldedNode is a node, or the sum of several.
type foldedNode struct {
	query.MapNode
	// of has the names of the nodes.
	of []string
	// more is how many nodes it sums up; 0 for a single one.
	more int
}

// foldNodes returns the most urgent nodes, in their order, and the sum of all others as the last one.
func foldNodes(all query.MapNodes, most int) []foldedNode {
	single := map[string]bool{}
	if all.Total <= most {
		most = all.Total
	} else {
		most--
	}
	order := slices.Clone(all.Items)
	slices.SortStableFunc(order, func(a, b query.MapNode) int { return cmp.Compare(urgencyOf(a), urgencyOf(b)) })
	for _, n := range order[:min(most, len(order))] {
		single[n.Name] = true
	}
	var folded []foldedNode
	rest := foldedNode{more: all.Total - len(all.Items)}
	for _, n := range all.Items {
		if single[n.Name] {
			folded = append(folded, foldedNode{MapNode: n, of: []string{n.Name}})
			continue
		}
		rest.of = append(rest.of, n.Name)
		rest.more++
		rest.Counts = rest.Counts.Plus(n.Counts)
		rest.Assignments += n.Assignments
		rest.Held += n.Held
	}
	if rest.more > 0 {
		folded = append(folded, rest)
	}
	return folded
}

// urgencyOf returns the place of a node among others; what waits or is unknown comes before what is ready.
func urgencyOf(n query.MapNode) int {
	if n.Held > 0 && n.Counts.Failed == 0 {
		return 1
	}
	return 2 * slices.Index(query.MapStates(), n.Counts.Worst())
}

// nodeState returns the state of a node.
func nodeState(n query.MapNode) any {
	switch {
	case n.Counts.Failed == 0 && n.Held > 0:
		return "held"
	case n.Counts.Total == 0 && n.Assignments == 0:
		return "unassigned"
	case n.Counts.Total == 0:
		return decide.NoClusters
	}
	return n.Counts.Worst()
}

// partsOf returns the bar of counts.
func partsOf(c query.MapCounts) []barPart {
	var counts []stateCount
	for _, s := range slices.Backward(query.MapStates()) {
		counts = append(counts, stateCount{s, c.Of(s)})
	}
	return barOf(counts)
}

// countsText returns counts as text, the most urgent first: "3 failed, 97 ready".
func countsText(c query.MapCounts) string {
	var parts []string
	for _, s := range query.MapStates() {
		if n := c.Of(s); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, label(s)))
		}
	}
	if parts == nil {
		return "no clusters"
	}
	return strings.Join(parts, ", ")
}

// noteOf returns the number on a node: how many are in its worst state, or all if they are ready.
func noteOf(c query.MapCounts) string {
	if c.Total == 0 {
		return ""
	}
	return short1000(c.Of(c.Worst()))
}

// short1000 shortens a number to at most four characters.
func short1000(n int) string {
	switch {
	case n < 10_000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%dM", n/1_000_000)
}

// column is a column of nodes.
type column struct {
	x, width                 int
	parameter, thing, things string
	nodes                    []foldedNode
}

// least returns the least height of a column.
func (c *column) least() int { return len(c.nodes) * (mapNodeHeight + 6) }

// place puts the nodes of a column below each other, and returns the middle of each by name.
func (c *column) place(d *drawing, address addresses) map[string]int {
	middles := map[string]int{}
	if len(c.nodes) == 0 {
		return middles
	}
	step := min(60, (d.Height-headHeight)/len(c.nodes))
	for i, n := range c.nodes {
		node := nodeAt(n, c.thing, cmp.Or(c.things, c.thing+"s"), c.width)
		node.X, node.Y, node.Width, node.Height = c.x, headHeight+i*step, c.width, mapNodeHeight
		switch {
		case n.more > 0:
			node.Address = "#" + c.parameter + "-table"
		case n.Name != "":
			node.Address = address(c.parameter, n.Name)
		}
		d.Nodes = append(d.Nodes, node)
		for _, name := range n.of {
			middles[name] = node.Y + mapNodeHeight/2
		}
	}
	return middles
}

// charWidth is about the width of a character in a node.
const charWidth = 7

// nodeAt returns a node without its place. The label begins with the visible text, so that users of voice control can say what they see.
func nodeAt(n foldedNode, thing, things string, width int) mapNode {
	v := mapNode{Name: line(n.Name), State: nodeState(n.MapNode), Parts: partsOf(n.Counts), Note: noteOf(n.Counts)}
	switch {
	case n.more > 0:
		v.Name = fmt.Sprintf("%d more %s", n.more, things)
	case n.Name == "":
		v.Name = "not known"
	}
	whole := v.Name
	v.Name = truncate(whole, (width-34-charWidth*len(v.Note))/charWidth)
	v.Label = strings.TrimSpace(v.Name+" "+v.Note) + ", " + thing
	if v.Name != whole {
		v.Label += " " + whole
	}
	v.Label += fmt.Sprintf(" %s: %s", label(v.State), countsText(n.Counts))
	return v
}

// flowsOf draws links between two columns, given the middles of their nodes. Links of the same nodes are summed up.
func flowsOf(links []query.MapLink, from, to map[string]int, x1, x2 int) []flow {
	sums := map[[2]int]query.MapCounts{}
	most := 1
	for _, l := range links {
		a, ok1 := from[l.From]
		b, ok2 := to[l.To]
		if ok1 && ok2 {
			sum := sums[[2]int{a, b}].Plus(l.Counts)
			sums[[2]int{a, b}] = sum
			most = max(most, sum.Total)
		}
	}
	type kind struct {
		tone  string
		width int
	}
	widest := 5.0 // many links would cover each other
	if len(sums) > 100 {
		widest = 1 + 400/float64(len(sums))
	}
	ends := map[kind][][2]int{}
	for at, c := range sums {
		k := kind{"", 1 + int((widest-1)*math.Sqrt(float64(c.Total)/float64(most)))}
		switch {
		case c.Failed > 0:
			k.tone = bad
		case c.Behind > 0:
			k.tone = move
		}
		ends[k] = append(ends[k], at)
	}
	var flows []flow
	for k, all := range ends {
		slices.SortFunc(all, func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
		var path strings.Builder
		bend := (x1 + x2) / 2
		for _, at := range all {
			fmt.Fprintf(&path, "M%d %dC%d %d %d %d %d %d", x1, at[0], bend, at[0], bend, at[1], x2, at[1])
		}
		flows = append(flows, flow{path.String(), k.tone, k.width})
	}
	order := []string{"", move, bad}
	slices.SortFunc(flows, func(a, b flow) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Tone), slices.Index(order, b.Tone)), cmp.Compare(a.Width, b.Width))
	})
	return flows
}

// field draws cluster types with their clusters.
type field struct {
	*drawing
	m       *query.Map
	pitch   int
	address addresses
	rings   []ringColumn
	// rowOf has the middle of each cluster type.
	rowOf map[string]int
	cells strings.Builder
}

// ringColumn is the part of the field for a ring.
type ringColumn struct {
	name     string
	x, width int
	counts   query.MapCounts
}

func (f *field) middles() map[string]int { return f.rowOf }

// columns divides the width of the field among the rings: each has a least width, and the rest is divided by numbers of clusters.
func (f *field) columns() {
	outside := query.MapCounts{}
	for _, l := range f.m.TypeRings {
		if l.To == "" {
			outside = outside.Plus(l.Counts)
		}
	}
	for _, r := range f.m.Rings.Items {
		f.rings = append(f.rings, ringColumn{name: r.Name, counts: r.Counts})
	}
	if outside.Total > 0 || len(f.rings) == 0 {
		f.rings = append(f.rings, ringColumn{counts: outside})
	}
	least := min(90, fieldWidth/len(f.rings)-ringGap)
	rest := fieldWidth - (least+ringGap)*len(f.rings) + ringGap
	x := fieldX
	for i := range f.rings {
		r := &f.rings[i]
		r.x, r.width = x, least+rest*r.counts.Total/max(1, f.m.Counts.Total)
		x += r.width + ringGap
		head := mapHead{X: r.x, Text: "Clusters", Note: countsText(r.counts), State: r.counts.Worst()}
		switch {
		case r.name != "":
			head.Text, head.Address = "Ring "+line(r.name), f.address("ring", r.name)
		case len(f.rings) > 1:
			head.Text = "No ring"
		}
		head.Text, head.Note = truncate(head.Text, max(6, r.width/charWidth)), truncate(head.Note, max(6, r.width/6))
		f.Heads = append(f.Heads, head)
	}
}

// rows draws a row for each cluster type.
func (f *field) rows() {
	byGroup := map[[2]string][]query.MapCluster{}
	for _, c := range f.m.Clusters {
		k := [2]string{c.ClusterType, c.Ring}
		byGroup[k] = append(byGroup[k], c)
	}
	counts := map[[2]string]query.MapCounts{}
	for _, l := range f.m.TypeRings {
		counts[[2]string{l.From, l.To}] = l.Counts
	}
	rows := foldNodes(f.m.ClusterTypes, maxRows)
	y := headHeight
	for _, row := range rows {
		height := mapNodeHeight
		if len(rows) > 40 {
			height = 18
		}
		for _, r := range f.rings {
			var sum query.MapCounts
			var named []query.MapCluster
			for _, name := range row.of {
				k := [2]string{name, r.name}
				sum, named = sum.Plus(counts[k]), append(named, byGroup[k]...)
			}
			if sum.Total > 0 {
				height = max(height, f.group(row, r, y, sum, named))
			}
		}
		node := nodeAt(row, "cluster type", "cluster types", typesWidth)
		node.X, node.Y, node.Width, node.Height, node.Band = typesX, y, typesWidth, height, mapWidth-typesX
		node.Address = "#clusterType-table"
		if row.more == 0 {
			node.Address = f.address("clusterType", row.Name)
		}
		f.Nodes = append(f.Nodes, node)
		for _, name := range row.of {
			f.rowOf[name] = y + min(height, mapNodeHeight)/2
		}
		y += height + rowGap
	}
	f.Height = y
	f.Cells = template.HTML(f.cells.String()) //nolint:gosec // writeCell escapes
}

// group draws the clusters of a cluster type in a ring, and returns its height. named are clusters with links, the most urgent first.
func (f *field) group(row foldedNode, r ringColumn, y int, counts query.MapCounts, named []query.MapCluster) int {
	const inset = 3
	g := mapGroup{X: r.x, Y: y, Width: r.width}
	g.Label = fmt.Sprintf("%s%s: %s", line(cmp.Or(row.Name, "more cluster types")), map[bool]string{true: ", ring " + line(r.name)}[r.name != ""], countsText(counts))
	if row.more == 0 {
		g.Address = f.address("clusterType", row.Name)
	}
	at := cursor{x: r.x, y: y + inset, left: r.x, width: r.width, pitch: max(f.pitch, bigCell)}
	if at.across = at.pitch; f.m.Counts.Total <= maxCards {
		at.across = min(cardWidth, r.width)
	}
	left := counts
	// Those that are not ready come first, and are larger, so that they are seen first.
	big := 0
	for big < len(named) && named[big].State != query.MapReady && big < bigLines*at.perLine() {
		c := named[big]
		f.cell(c, at.next(), at.across-f.Gap, at.pitch-f.Gap)
		*leftOf(&left, c.State)--
		big++
	}
	if at.across == at.pitch {
		at.resize(f.pitch, f.pitch)
	}
	for _, c := range named[big:] {
		f.cell(c, at.next(), at.across-f.Gap, f.Cell)
		*leftOf(&left, c.State)--
	}
	if len(named) < counts.Total {
		at.resize(f.pitch, f.pitch)
	}
	for _, s := range query.MapStates() {
		if path := at.run(*leftOf(&left, s), f.Cell); path != "" {
			g.Lines = append(g.Lines, cellLine{path, tone(s)})
		}
	}
	g.Height = max(at.bottom()+inset-y, mapNodeHeight/2)
	f.Groups = append(f.Groups, g)
	return g.Height
}

// leftOf returns the number in a state.
func leftOf(c *query.MapCounts, s query.MapState) *int {
	return map[query.MapState]*int{
		query.MapFailed: &c.Failed, query.MapOffline: &c.Offline, query.MapMissing: &c.Missing, query.MapBehind: &c.Behind,
		query.MapSuspended: &c.Suspended, query.MapUnknown: &c.Unknown, query.MapReady: &c.Ready,
	}[s]
}

// cell writes a cluster with its link. A page may have a thousand, so they are not rendered with templates.
func (f *field) cell(c query.MapCluster, at [2]int, width, height int) {
	style := styleOf(c.State)
	name := template.HTMLEscapeString(line(c.Name))
	fmt.Fprintf(&f.cells, `<a href="%s" aria-label="%s %s"`, template.HTMLEscapeString(f.address("cluster", c.Name)), name, style.label)
	if c.State == query.MapReady {
		f.cells.WriteString(` tabindex="-1"`) // hundreds of stops on the way through the page; the table has them
	}
	fmt.Fprintf(&f.cells, `><title>%s %s</title><rect class="%s" x="%d" y="%d" width="%d" height="%d"/>`, name, style.label, style.tone, at[0], at[1], width, height)
	switch {
	case width > 2*height:
		text := template.HTMLEscapeString(truncate(line(c.Name), (width-30)/charWidth))
		fmt.Fprintf(&f.cells, `<text class="card" x="%d" y="%d">%s %s</text>`, at[0]+8, at[1]+height/2+4, style.symbol, text)
	case height+f.Gap >= bigCell:
		fmt.Fprintf(&f.cells, `<text x="%d" y="%d">%s</text>`, at[0]+width/2, at[1]+height/2+4, style.symbol)
	}
	f.cells.WriteString("</a>\n")
}

// cursor goes through the places of cells, line by line. Across is the distance of cells in a line, and pitch that of lines.
type cursor struct{ x, y, left, width, across, pitch int }

func (c *cursor) perLine() int { return max(1, c.width/c.across) }

// next returns the place of the next cell.
func (c *cursor) next() [2]int {
	c.wrap()
	at := [2]int{c.x, c.y}
	c.x += c.across
	return at
}

// wrap begins a line if no other cell fits into this one.
func (c *cursor) wrap() {
	if c.x > c.left && c.x+c.across > c.left+c.width {
		c.x, c.y = c.left, c.y+c.pitch
	}
}

// resize continues with cells of another size, in a new line.
func (c *cursor) resize(across, pitch int) {
	if c.x > c.left && (c.pitch != pitch || c.across != across) {
		c.x, c.y = c.left, c.y+c.pitch
	}
	c.across, c.pitch = across, pitch
}

// run takes the places of n square cells, and returns them as lines of dashes.
func (c *cursor) run(n, cell int) string {
	var path strings.Builder
	for n > 0 {
		c.wrap()
		some := min(n, max(1, (c.left+c.width-c.x)/c.across))
		fmt.Fprintf(&path, "M%d %gh%d", c.x, float64(c.y)+float64(cell)/2, some*c.across-(c.across-cell))
		c.x += some * c.across
		n -= some
	}
	return path.String()
}

// bottom returns the end of the last line.
func (c *cursor) bottom() int {
	if c.x == c.left {
		return c.y
	}
	return c.y + c.pitch
}

// mapAddress returns the address of a part of the map: the query with another value of a parameter, without the page of clusters.
func mapAddress(values url.Values) addresses {
	return func(name, value string) string {
		next := maps.Clone(values)
		next.Del("after")
		next.Del(name)
		if value != "" {
			next.Set(name, value)
		}
		return "/map?" + next.Encode()
	}
}
