package formula

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/kalypso-io/kalypso/internal/text/schemas"
)

var test = NewLanguage("test", map[string]*cel.Type{"environment": cel.StringType, "target.labels": cel.MapType(cel.StringType, cel.StringType)})

func facts(name string) (ref.Val, bool) {
	switch name {
	case "environment":
		return types.String("dev"), true
	case "target.labels":
		return types.NewStringStringMap(types.DefaultTypeAdapter, map[string]string{"tier": "gold"}), true
	}
	return nil, false
}

// sheet is a configuration of flat keys: in each layer, a key has a value or a formula.
type sheet struct {
	layers  []map[string]any
	cells   []Cell
	results map[int]any
}

func (s *sheet) Value(path []string, below int) (value any, ok bool) {
	for i, layer := range s.layers[:min(below, len(s.layers))] {
		if v, written := layer[path[0]]; written {
			value, ok = v, true
		}
		for n, c := range s.cells {
			if result, done := s.results[n]; c.Layer == i && c.Path[0] == path[0] && done && result != nil {
				value, ok = result, true
			}
		}
	}
	return value, ok
}

func (s *sheet) Replaced(path []string, above, below int) bool {
	for i, layer := range s.layers {
		if _, written := layer[path[0]]; written && i > above && i < below {
			return true
		}
	}
	return false
}

func (s *sheet) Set(cell int, result any) { s.results[cell] = result }

// solve solves layers of "KEY: value" and "KEY = expression", and returns all values and failures.
func solve(t *testing.T, layers ...string) string {
	t.Helper()
	s := &sheet{results: map[int]any{}}
	var keys []string
	for i, text := range layers {
		layer := map[string]any{}
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if key, expression, ok := strings.Cut(line, " = "); ok {
				f, err := test.Compile(expression)
				if err != nil {
					t.Fatalf("%s: %v", expression, err)
				}
				s.cells = append(s.cells, Cell{f, []string{key}, i, key})
				keys = append(keys, key)
			} else if key, value, ok := strings.Cut(line, ": "); ok {
				layer[key] = value
				keys = append(keys, key)
			}
		}
		s.layers = append(s.layers, layer)
	}
	var out []string
	failures := Solve(s.cells, s, facts)
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		if v, ok := s.Value([]string{key}, end); ok {
			out = append(out, fmt.Sprintf("%s: %v", key, v))
		}
	}
	for _, f := range failures {
		out = append(out, "! "+s.cells[f.Cell].Name+": "+f.Err.Error())
	}
	return strings.Join(out, "\n")
}

func TestSolve(t *testing.T) {
	for name, c := range map[string]struct {
		layers []string
		want   string
	}{
		"in the order of what is read": {[]string{"A = config.B + \"!\"\nB = config.C + environment\nC: x"}, "A: xdev!\nB: xdev\nC: x"},
		"facts":                        {[]string{`A = target.labels.tier + target.labels["tier"]`}, "A: goldgold"},
		"above is before the level":    {[]string{"A: x", `A = above.A + "y"`, `A = above.A + "z"`}, "A: xyz"},
		"what is written wins":         {[]string{"A = config.B", "A: x\nB = config.A"}, "A: x\nB: x"},
		"overridden, but read":         {[]string{`A = "low" + config.B`, "A: high\nB: 1\nC = above.A"}, "A: high\nB: 1\nC: low1"},
		"no value":                     {[]string{"A: x", "A = optional.none()", `B = has(config.C) ? "c" : "none"`}, "A: x\nB: none"},
		"a circle":                     {[]string{`A = config.B + "a"`, `B = config.C + "b"`, `C = config.A + "c"`}, "! C: values read each other in a circle: A -> B -> C -> A\n! B: a value that it reads cannot be computed: C\n! A: a value that it reads cannot be computed: B"},
		"itself":                       {[]string{"A = config.A"}, "! A: A reads itself; above reads its value of the levels above"},
		"missing":                      {[]string{"A = config.B"}, `! A: it reads "B", which has no value here; has() tests it, and .?key.orValue() gives a default`},
		"a default":                    {[]string{`A = config.?B.orValue("d")`}, "A: d"},
		"not a number":                 {[]string{"A = 0.0 / 0.0"}, "! A: the result is not a number, or an infinite one"},
		"keys of maps":                 {[]string{"A = {1: 2}"}, "! A: the result has a map with a key that is not a text: 1"},
		"too expensive":                {[]string{"A = " + strings.Repeat("[1,2,3,4,5,6,7,8,9,10].map(x, ", 7) + "1" + strings.Repeat(")", 7)}, "! A: " + ErrCost.Error()},
		"too expensive together":       {[]string{expensive(40)}, ErrCost.Error()},
		"too large":                    {[]string{"A = " + strings.Repeat("[1,2,3,4,5,6,7,8,9,10].map(x, ", 4) + `"` + strings.Repeat("x", 100) + `"` + strings.Repeat(")", 4)}, "! A: " + errResultSize.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			got := solve(t, c.layers...)
			if got != c.want && !(name == "too expensive together" && strings.Contains(got, c.want)) {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// expensive returns expressions of which each is allowed, but not all together.
func expensive(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "K%d = %s1%s\n", i, strings.Repeat("[1,2,3,4,5,6,7,8,9,10].map(x, ", 4), strings.Repeat(")", 4))
	}
	return b.String()
}

func TestCompileRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "line 1, column 0",
		"oops":                              "put a text in quotes, and write config.KEY",
		"config":                            "config is read as a whole",
		"config[environment]":               "config is read as a whole, or by a computed key",
		"size(above)":                       "above is read as a whole",
		`"a" + 1`:                           "column 5: found no matching overload",
		`timestamp("2026-01-01T00:00:00Z")`: "want a text, number, boolean, map or list",
		`"x".matches(environment)`:          "the pattern of a regular expression must be a text",
		strings.Repeat("1+", 4000) + "1":    "the maximum is",
	} {
		_, err := test.Compile(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: got %v, want %q", text, err, want)
		}
	}
	f, err := test.Compile(`config.a["b c"].d + config.list[0] + environment + [config.x].map(y, y.z)[0]`)
	if got := fmt.Sprint(f.Reads()); err != nil || got != `[config.a["b c"].d config.list config.x environment]` {
		t.Errorf("reads %s, %v", got, err)
	}
}

func TestRules(t *testing.T) {
	const schema = `{
		"x-kubernetes-validations": [{"rule": "self.min <= self.max", "message": "min is at most max"}],
		"properties": {"db": {"x-kubernetes-validations": [{"rule": "has(self.host) || has(self.url)"}]}}
	}`
	rules := rulesOf(t, schema)
	for data, want := range map[string]string{
		`{"min": 1, "max": 2}`:                   "[]",
		`{"min": 3, "max": 2}`:                   "[{[] breaks a rule: min is at most max}]",
		`{"min": 1, "max": 1.5, "db": {"x": 1}}`: `[{[db] breaks the rule "has(self.host) || has(self.url)"}]`,
		`{"min": 1}`:                             `[{[] breaks the rule "self.min <= self.max", which cannot be evaluated: it reads "max", which has no value here; has() tests it, and .?key.orValue() gives a default}]`,
	} {
		decoder := json.NewDecoder(strings.NewReader(data))
		decoder.UseNumber()
		var value any
		if err := decoder.Decode(&value); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(rules.Check(value)); got != want {
			t.Errorf("%s: got %s, want %s", data, got, want)
		}
	}
}

func rulesOf(t *testing.T, schema string) Rules {
	t.Helper()
	var document any
	if err := json.Unmarshal([]byte(schema), &document); err != nil {
		t.Fatal(err)
	}
	compiled, err := schemas.Compile(document, schemas.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rules, err := RulesOf(compiled)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// FuzzSolve computes arbitrary expressions that read each other: it must end, and not panic.
func FuzzSolve(f *testing.F) {
	f.Add(`config.B + "x"`, "above.A", `{"a": [config.A]}`)
	f.Add(`config.?B.orValue(1)`, "[1, 2].map(x, x * 2)", `"x".matches("[a-z]+")`)
	f.Fuzz(func(t *testing.T, a, b, c string) {
		s := &sheet{results: map[int]any{}, layers: []map[string]any{{"A": "a"}, {}}}
		for i, text := range []string{a, b, c} {
			if compiled, err := test.Compile(text); err == nil {
				s.cells = append(s.cells, Cell{compiled, []string{string(rune('A' + i))}, i / 2, text})
			}
		}
		first := fmt.Sprint(Solve(s.cells, s, facts), s.results)
		again := &sheet{results: map[int]any{}, layers: s.layers, cells: s.cells}
		if second := fmt.Sprint(Solve(again.cells, again, facts), again.results); second != first {
			t.Errorf("not the same twice:\n%s\n%s", first, second)
		}
	})
}
