package web_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/hub/query"
)

var (
	ofPattern     = regexp.MustCompile(`([\d,]+) of ([\d,]+)`)
	numberPattern = regexp.MustCompile(`[\d,]+`)
	tilePattern   = regexp.MustCompile(`([\d,]+) ([a-z ]+)$`)
)

// number reads a number of a page, which has separators.
func (f *outputFleet) number(text string) int {
	f.t.Helper()
	n, err := strconv.Atoi(strings.ReplaceAll(numberPattern.FindString(text), ",", ""))
	if err != nil {
		f.t.Errorf("%q has no number", text)
	}
	return n
}

// of reads the first "2 of 3" of a text; both are -1 if it has none.
func (f *outputFleet) of(text string) [2]int {
	f.t.Helper()
	found := ofPattern.FindStringSubmatch(text)
	if found == nil {
		return [2]int{-1, -1}
	}
	return [2]int{f.number(found[1]), f.number(found[2])}
}

// figureOf returns the value of a figure above the tables, with its unit.
func figureOf(p *page, name string) string {
	for _, n := range p.all(".figures div") {
		if shown := text(n); strings.HasPrefix(shown, name) {
			return strings.TrimPrefix(shown, name)
		}
	}
	p.t.Errorf("the page has no %q: %q", name, p.texts(".figures div"))
	return ""
}

// compareNumbers compares each number that two pages have: clusters, by state, those that run the commit, those on which a workload fails,
// what needs a user, and deployments.
func (f *outputFleet) compareNumbers(first *page) {
	f.t.Helper()
	healthy := [2]int{}
	for _, environment := range outputEnvironments {
		one := f.compareEnvironment(first, environment)
		healthy[0], healthy[1] = healthy[0]+one[0], healthy[1]+one[1]
		f.compareWorkloads(environment)
	}
	if got := f.of(figureOf(first, "Up to date")); healthy[1] > 0 && got != healthy {
		f.t.Errorf("the first page says %d of %d are up to date, the maps %v", got[0], got[1], healthy)
	}
	f.compareNeeds(first)
	f.compareFigures(first)
}

// compareEnvironment compares the first page, that of the environment, its map and the list of its clusters, and returns how
// many of its clusters are ready, of how many.
func (f *outputFleet) compareEnvironment(first *page, environment string) [2]int {
	t, gate := f.t, f.truth[environment].gate
	t.Helper()
	if gate.Expected == 0 {
		return [2]int{}
	}
	if got := f.number(text(first.all("th#environment-" + environment)[0])); got != gate.Expected {
		t.Errorf("%s: the first page has %d clusters, want %d", environment, got, gate.Expected)
	}
	detail := f.see("/environments/" + environment)
	want := [2]int{gate.Reached, gate.Expected}
	for where, shown := range map[string]string{
		"the first page":  strings.Join(first.texts("td[data-env="+environment+"] .how"), " "),
		"the environment": strings.Join(detail.texts(".panel header"), " "),
	} {
		if got := f.of(shown); got != want {
			t.Errorf("%s: %s says %d of %d run it, want %v: %q", environment, where, got[0], got[1], want, shown)
		}
	}
	types := [2]int{}
	for _, row := range detail.all("section[aria-labelledby=types] tbody tr") {
		if one := f.of(text(row)); one[0] >= 0 {
			types[0], types[1] = types[0]+one[0], types[1]+one[1]
		}
	}
	if types != want {
		t.Errorf("%s: the cluster types add up to %v, want %v", environment, types, want)
	}
	drawn := f.see("/map?environment=" + environment)
	states := map[string]int{}
	for _, tile := range drawn.texts(".tally .tile") {
		if m := tilePattern.FindStringSubmatch(tile); m != nil {
			states[m[2]] = f.number(m[1])
		}
	}
	for state, n := range map[string]int{"failed": gate.Failed, "offline": gate.Offline, "behind": gate.Behind, "missing": gate.Missing, "reached": gate.Reached} {
		if rows := len(f.see("/clusters?environment=" + environment + "&state=" + state).all("tbody tr")); rows != n {
			t.Errorf("%s: the list of clusters has %d that are %s, want %d", environment, rows, state, n)
		}
	}
	total := f.number(text(drawn.all(".tally strong")[0]))
	if rows := len(f.see("/clusters?environment=" + environment).all("tbody tr")); total != gate.Expected || rows != total {
		t.Errorf("%s: the map has %d clusters, the list %d, want %d", environment, total, rows, gate.Expected)
	}
	return [2]int{states["ready"], total}
}

// compareWorkloads compares in how many clusters each target fails: in the matrix of the environment, and in truth.
func (f *outputFleet) compareWorkloads(environment string) {
	f.t.Helper()
	fails := map[string]int{}
	for _, row := range f.see("/environments/" + environment).all(".matrix tbody tr") {
		cells := (&page{f.t, row}).all("td")
		for _, cell := range cells {
			if shown := text(cell); strings.HasPrefix(shown, "✕") {
				fails[strings.Fields(text((&page{f.t, row}).all("th")[0]))[0]] += f.number(shown)
			}
		}
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(outputTargets["large"]))) {
		if want := f.truth[environment].lastFailed[name]; fails[name+"-test"] != want {
			f.t.Errorf("%s: the matrix has %d clusters on which %s fails, want %d", environment, fails[name+"-test"], name, want)
		}
	}
}

// compareNeeds compares how much needs a user: in the navigation, on the first page and in the inbox.
func (f *outputFleet) compareNeeds(first *page) {
	f.t.Helper()
	inbox := f.see("/needs")
	needs, err := f.pages.Observer.Needs(f.t.Context(), query.NeedsQuery{})
	f.must(err)
	rows, badge := len(first.all(".needs li")), needs.Total
	if more := first.texts(".needs-panel footer"); len(more) > 0 {
		rows += f.number(more[0])
	}
	if badge > 0 {
		badge = f.number(first.texts(".needs-panel .badge")[0])
	}
	nav := 0
	if shown := first.texts(".rail a[href=/needs] .n"); len(shown) > 0 {
		nav = f.number(shown[0])
	}
	if listed := len(inbox.all("main .needs li")); rows != needs.Total || badge != needs.Total || nav != needs.Total || listed != needs.Total {
		f.t.Errorf("the first page lists %d needs and counts %d, the navigation %d, the inbox %d, want %d", rows, badge, nav, listed, needs.Total)
	}
}

// compareFigures compares the figures of a week on the first page with those on their own page.
func (f *outputFleet) compareFigures(first *page) {
	f.t.Helper()
	own := f.see("/figures?days=7")
	if len(own.all("main .empty")) > 0 {
		if n := f.number(figureOf(first, "Deployments, 7 days")); n != 0 {
			f.t.Errorf("the first page has %d deployments, their own page none", n)
		}
		return
	}
	for here, there := range map[string]string{"Deployments, 7 days": "Deployments", "Lead time, median": "Lead time"} {
		a, b := strings.Fields(figureOf(first, here)), strings.Fields(figureOf(own, there))
		if a[0] != b[0] {
			f.t.Errorf("%s: the first page has %q, their own page %q", there, a, b)
		}
	}
	bars := 0
	for _, row := range own.all("figure tbody tr") {
		bars += f.number(text((&page{f.t, row}).all("td")[0]))
	}
	if n := f.number(figureOf(own, "Deployments")); bars != n {
		f.t.Errorf("the bars have %d deployments, the figure %d", bars, n)
	}
}
