package formula

import (
	"fmt"
	"testing"
)

// TestSolveOrder computes lists from maps, whose order must not depend on the run.
func TestSolveOrder(t *testing.T) {
	for _, expression := range []string{
		`config.M.map(k, k)`,
		`{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6}.map(k, k)`,
		`config.M.transformList(k, v, k)`,
		`target.labels.map(k, k)`,
		`config.M.transformMap(k, v, v).map(k, k)`,
		`config.M.filter(k, k != "a").map(k, config.M.map(o, k + o))`,
		`{1: 1, "b": 2, true: 3, 4u: 4, 2: 5}.map(k, type(k) == int)`,
		`[3, 1, 2].map(x, x)`,
	} {
		f, err := test.Compile(expression)
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		seen := map[string]bool{}
		for range 50 {
			s := &sheet{results: map[int]any{}, layers: []map[string]any{{"M": map[string]any{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6}}}}
			s.cells = []Cell{{f, []string{"L"}, 0, "L"}}
			if failures := Solve(s.cells, s, facts); len(failures) > 0 {
				t.Fatal(failures)
			}
			seen[fmt.Sprint(s.results[0])] = true
		}
		if len(seen) != 1 {
			t.Errorf("%s has %d results", expression, len(seen))
		}
	}
}
