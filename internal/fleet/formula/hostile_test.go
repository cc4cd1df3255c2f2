package formula

import (
	"runtime"
	"strings"
	"testing"

	"github.com/google/cel-go/common/types/ref"
)

// thousand is a list of a thousand numbers, which costs as much as one of them.
var thousand = "[" + strings.Repeat("0,", 999) + "0]"

// doubled joins a list with itself, over and over, which takes no memory.
func doubled(list string, times int) string {
	return list + strings.Repeat(".map(x, x + x)", times)
}

// nested puts a list into a list twice, over and over, which takes no memory.
func nested(times int) string {
	return "[[0]]" + strings.Repeat(".map(x, [x, x])", times)
}

// Expressions of a few kilobytes whose values would have gigabytes, or take hours to read, end before.
func TestBombsEndBeforeTheyTakeMemory(t *testing.T) {
	for name, expression := range map[string]string{
		"a flattened list":        "string(lists.range(80000).map(a, " + thousand + ").flatten().size())",
		"to a depth":              "string(lists.range(80000).map(a, " + thousand + ").flatten(1).size())",
		"many flattened lists":    "string(lists.range(10000).map(a, lists.range(100).map(b, " + thousand + ").flatten()).size())",
		"a range":                 "lists.range(1000000000).size()",
		"a doubled list":          doubled("["+thousand+"]", 40) + "[0].size()",
		"a reversed one":          doubled("["+thousand+"]", 40) + "[0].reverse()[0]",
		"the sum of one":          doubled("[[1]]", 50) + "[0].sum()",
		"a search in one":         "1 in " + doubled("[[0]]", 50) + "[0]",
		"nested lists":            nested(60) + " == " + nested(60),
		"nested lists, flattened": nested(60) + ".flatten(60).size()",
		"the first of nested":     nested(60) + ".distinct().size()",
		"replaced":                `"` + strings.Repeat("a", 500) + `"` + strings.Repeat(`.replace("a", "`+strings.Repeat("a", 500)+`")`, 4) + ".size()",
		"joined":                  `lists.range(20000).map(a, "` + strings.Repeat("a", 3000) + `").join("` + strings.Repeat(",", 500) + `").size()`,
		"joined by much":          `lists.range(100000).map(a, "").join("` + strings.Repeat("a", 3000) + `").size()`,
		"formatted":               `"` + strings.Repeat("%s", 500) + `".format(lists.range(500).map(a, "` + strings.Repeat("a", 2000) + `".replace("a", "aaaaaaaaaaaaaaaaaaaa"))).size()`,
		"many of many":            "sets.contains(lists.range(100000), lists.range(100000).map(a, a + 100000))",
		"different ones":          "lists.range(100000).distinct().size()",
	} {
		t.Run(name, func(t *testing.T) {
			f, err := test.Compile(expression)
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			s := &sheet{results: map[int]any{}, cells: []Cell{{f, []string{"A"}, 0, "A"}}}
			failures := Solve(s.cells, s, facts)
			runtime.ReadMemStats(&after)
			if len(failures) != 1 {
				t.Error("it has a result")
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 250<<20 {
				t.Errorf("%d MB were allocated", took>>20)
			}
		})
	}
}

// What the limits wrap has the results that it has in CEL.
func TestLimitedFunctionsKeepTheirResults(t *testing.T) {
	for expression, want := range map[string]string{
		"[[1], [2, [3]]].flatten()":                                                    "[1 2 [3]]",
		"[[1], [2, [3]]].flatten(2)":                                                   "[1 2 3]",
		"[3, 1, 2].sort() + [1, 2].reverse()":                                          "[1 2 3 2 1]",
		"['b', 'a', 'b'].distinct().sort().join('-')":                                  "a-b",
		"'aXbX'.replace('X', '-', 1)":                                                  "a-bX",
		"'%s has %d'.format(['a', 2])":                                                 "a has 2",
		"lists.range(3).slice(1, 3)":                                                   "[1 2]",
		"1 + 2 == 3 && 1.5 + 1.5 != 2.0 && 2 in [1, 2] && 'k' in {'k': 1}":             "true",
		"sets.intersects([1], [1, 2]) && [1, 2].sum() == 3 && 'abc'.indexOf('c') == 2": "true",
		"{'a': [1]} == {'a': [1]} && [1] + [2] == [1, 2]":                              "true",
		"duration('1h') + duration('1m') == duration('61m')":                           "true",
	} {
		if got := solve(t, "A = "+expression); got != "A: "+want {
			t.Errorf("%s: %s", expression, got)
		}
	}
}

// Many expensive expressions take as long as one of them: the others are not evaluated.
func TestCostIsShared(t *testing.T) {
	f, err := test.Compile("string(lists.range(80000).map(a, environment).size())")
	if err != nil {
		t.Fatal(err)
	}
	s, read := &sheet{results: map[int]any{}}, 0
	for range 20 {
		s.cells = append(s.cells, Cell{f, []string{"A"}, 0, "A"})
	}
	failures := Solve(s.cells, s, func(name string) (ref.Val, bool) { read++; return facts(name) })
	if len(failures) != len(s.cells) || read > 2*80_000 {
		t.Errorf("%d of %d failed, after %d steps", len(failures), len(s.cells), read)
	}
}
