package engine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	helm "helm.sh/helm/v4/pkg/chart/v2"
	release "helm.sh/helm/v4/pkg/release/v1"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// maxTried is the maximum number of values that are tried, to find those that a random result is the default of.
const maxTried = 40

// chanceValue is a value that is tried.
const chanceValue = "kalypso-value"

// unsettled returns a problem for each field that depends on random functions or the clock, with the value that
// avoids it. found is called with each such value, the fields that it settles, and the output with it.
//
// The values are found by trying: those that templates read near a random function are set, one more each time,
// and one after which fewer fields differ is an answer.
func (c *helmChart) unsettled(composed *values.Composed, o chart.Options, left []change, found func(value string, gone []change, output map[string]string)) []fleet.Problem {
	var problems []fleet.Problem
	m := &workMeter{left: maxListing, values: newValues()} // one for all attempts
	part := c.making(left)
	known := left
	if a, err := part.output(composed, o, &chance{}, m); err == nil {
		if b, err := part.output(composed, o, &chance{other: true}, m); err == nil {
			known = changed(a, b)
		}
	}
	for _, value := range c.candidates(left) {
		if len(left) == 0 || m.exceeded != nil {
			break
		}
		tried, ok := with(composed, value)
		if !ok {
			continue
		}
		a, err := part.output(tried, o, &chance{}, m)
		if err != nil {
			continue
		}
		b, err := part.output(tried, o, &chance{other: true}, m)
		if err != nil {
			continue
		}
		still := changed(a, b)
		gone := without(left, still)
		if more := without(still, known); len(gone) <= len(more) {
			continue
		}
		found(value, gone, a)
		problems = append(problems, c.random(gone, fmt.Sprintf("set the value %q; if it is a secret, let the chart use a Secret that is in the cluster", value)))
		composed, left, known = tried, without(left, gone), still
	}
	for _, l := range left {
		problems = append(problems, c.random([]change{l}, "set the value that replaces it, or let the chart use a Secret that is in the cluster"))
	}
	return problems
}

// without returns the changes that are not among others.
func without(all, others []change) []change {
	return slices.DeleteFunc(slices.Clone(all), func(c change) bool { return slices.Contains(others, c) })
}

// output returns the output of each file of one side of a chance.
func (c *helmChart) output(composed *values.Composed, o chart.Options, side *chance, m *workMeter) (map[string]string, error) {
	ch, visible, err := c.visible(composed, o)
	if err != nil {
		return nil, err
	}
	return execute(ch, visible, side, m)
}

// random describes fields that one value settles.
func (c *helmChart) random(fields []change, hint string) fleet.Problem {
	// The field itself comes before checksums of it.
	slices.SortStableFunc(fields, func(a, b change) int { return cmp.Compare(a.derived(), b.derived()) })
	first := fields[0]
	what := cmp.Or(first.field, "the output")
	if len(fields) > 1 {
		what = fmt.Sprintf("%s (and %d more)", what, len(fields)-1)
	}
	return fleet.Problem{
		Severity: fleet.SeverityError, Kind: fleet.KindTemplateExecution, Object: first.object,
		Position: fleet.Position{Source: "chart", File: cmp.Or(first.source, c.name)},
		Message:  what + " depends on a random function or the clock, and the same commit must give the same manifests", Hint: hint,
	}
}

// making returns the chart with the templates that made the fields, and those that these may include, so that
// attempts cost little.
func (c *helmChart) making(fields []change) *helmChart {
	var texts []string
	named := func(t *common.File) bool {
		quoted := "/" + path.Base(t.Name) + `"`
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, quoted) })
	}
	keeps := func(ch *helm.Chart, t *common.File) bool {
		name := path.Join(ch.ChartFullPath(), t.Name)
		return strings.HasPrefix(path.Base(t.Name), "_") || named(t) ||
			slices.ContainsFunc(fields, func(f change) bool { return f.source == "" || f.source == name })
	}
	part := *c
	for before := -1; before < len(texts); {
		before = len(texts)
		texts = nil
		part.loaded = reduced(c.loaded, func(ch *helm.Chart, t *common.File) bool {
			keep := keeps(ch, t)
			if keep {
				texts = append(texts, string(t.Data))
			}
			return keep
		})
	}
	return &part
}

// reduced returns a chart with some of its templates, and those of its dependencies.
func reduced(ch *helm.Chart, keep func(*helm.Chart, *common.File) bool) *helm.Chart {
	c := copyOf(ch)
	var visit func(from, to *helm.Chart)
	visit = func(from, to *helm.Chart) {
		to.Templates = slices.DeleteFunc(slices.Clone(from.Templates), func(t *common.File) bool { return !keep(from, t) })
		for i, d := range from.Dependencies() {
			visit(d, to.Dependencies()[i])
		}
	}
	visit(ch, c)
	return c
}

// change is a field that differs between two renderings.
type change struct {
	source string
	object fleet.Ref
	field  string
}

// derived is 1 for annotations, which often are checksums of other objects.
func (c change) derived() int {
	if strings.Contains(c.field, "metadata.annotations") {
		return 1
	}
	return 0
}

// changed returns the fields that differ between the output of templates.
func changed(a, b map[string]string) []change {
	var all []change
	for _, source := range slices.Sorted(maps.Keys(b)) {
		if a[source] == b[source] {
			continue
		}
		was, is := applied(source, a[source]), applied(source, b[source])
		if slices.Equal(was, is) {
			continue
		}
		found := len(all)
		for i := range min(len(was), len(is)) {
			x, wrong := read(source, was[i])
			y, alsoWrong := read(source, is[i])
			if errors.Join(wrong, alsoWrong) != nil {
				break
			}
			metadata, _ := x.fields["metadata"].(map[string]any)
			object := fleet.Ref{Kind: x.kind(), Name: text(metadata, "name")}
			for field := range differences("", x.fields, y.fields) {
				all = append(all, change{source, object, field})
			}
		}
		if len(all) == found { // a comment, another number of objects, or no YAML
			all = append(all, change{source: source})
		}
	}
	return all
}

// applied returns the documents of a file without hooks that are left out. It returns all of them if one cannot be
// read.
func applied(source, text string) []string {
	all := chart.Documents(text)
	if !strings.Contains(text, release.HookAnnotation) {
		return all
	}
	var kept []string
	for _, text := range all {
		d, err := read(source, text)
		if err != nil {
			return all
		}
		on, isHook, err := d.hook()
		if err != nil {
			return all
		}
		if !isHook || slices.ContainsFunc(events(on), installs) {
			kept = append(kept, text)
		}
	}
	return kept
}

// with returns values in which one is set, unless something else is in its place.
func with(composed *values.Composed, dotted string) (*values.Composed, bool) {
	changed := *composed
	changed.Data = maps.Clone(composed.Data)
	if changed.Data == nil {
		changed.Data = map[string]any{}
	}
	data := changed.Data
	steps := strings.Split(dotted, ".")
	for _, step := range steps[:len(steps)-1] {
		below, isMap := data[step].(map[string]any)
		if data[step] != nil && !isMap {
			return nil, false
		}
		if below = maps.Clone(below); below == nil {
			below = map[string]any{}
		}
		data[step], data = below, below
	}
	last := steps[len(steps)-1]
	if _, isMap := data[last].(map[string]any); isMap {
		return nil, false
	}
	data[last] = chanceValue
	return &changed, true
}

// valueName matches a value that a template reads, or its name in a text, as for a helper of a library chart.
var valueName = regexp.MustCompile(`\.Values\)*\.([A-Za-z0-9_]+(?:\)*\.[A-Za-z0-9_]+)*)|"([A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)+)"`)

// randomCall matches the call of a function whose result is random or depends on the clock.
var randomCall = regexp.MustCompile(`\b(?:` + strings.Join(slices.Concat(chart.RandomFunctions, clockFunctions), "|") + `)\b`)

// candidates returns the values that may replace a random result, the likeliest first: names of existing Secrets,
// those that are read near a random function, and then those that the templates of the objects read.
func (c *helmChart) candidates(fields []change) []string {
	type candidate struct {
		value    string
		distance int
	}
	var all []candidate
	var visit func(ch *helm.Chart, below string)
	visit = func(ch *helm.Chart, below string) {
		for _, t := range ch.Templates {
			name := path.Join(ch.ChartFullPath(), t.Name)
			makes := slices.ContainsFunc(fields, func(f change) bool { return f.source == name })
			lines := strings.Split(string(t.Data), "\n")
			var calls []int
			for i, line := range lines {
				if randomCall.MatchString(line) {
					calls = append(calls, i)
				}
			}
			if len(calls) == 0 && !makes {
				continue
			}
			for i, line := range lines {
				distance := len(lines) + 1000
				for _, call := range calls {
					distance = min(distance, max(call-i, 3*(i-call))) // conditions come before what they guard
				}
				for _, found := range valueName.FindAllStringSubmatch(line, -1) {
					if found[2] != "" && !makes {
						continue
					}
					found[1] = strings.ReplaceAll(found[1], ")", "") // as in (.Values.auth).password
					value := below + cmp.Or(found[1], found[2])
					if strings.HasPrefix(found[1], "global.") {
						value = found[1]
					}
					all = append(all, candidate{value, distance})
				}
			}
		}
		for _, d := range ch.Dependencies() {
			visit(d, below+d.Name()+".")
		}
	}
	visit(c.loaded, "")
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(existing(a.value), existing(b.value)), cmp.Compare(a.distance, b.distance))
	})
	var names []string
	for _, found := range all {
		if !slices.Contains(names, found.value) && len(names) < maxTried {
			names = append(names, found.value)
		}
	}
	return names
}

// existing orders values: names of existing Secrets, other values, and the names of keys in such Secrets.
func existing(value string) int {
	last := strings.ToLower(value[strings.LastIndexByte(value, '.')+1:])
	switch {
	case strings.Contains(last, "existing") && !strings.Contains(last, "key"), last == "secretname":
		return 0
	case strings.Contains(last, "existing"):
		return 2
	}
	return 1
}
