package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const root = "../.."

// The old text of each mutant is in its file exactly once, and its tests exist. Nothing is compiled.
func TestTableIsNotStale(t *testing.T) {
	if err := check(root, mutants); err != nil {
		t.Error(err)
	}
}

// Every invariant of ARCHITECTURE.md has three mutants, in its order.
func TestEveryInvariantHasMutants(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "\n## Invariants\n")
	count := map[int]int{}
	last := 0
	for _, m := range mutants {
		if m.invariant < last {
			t.Errorf("%q of invariant %d comes after those of invariant %d", m.name, m.invariant, last)
		}
		last = m.invariant
		count[m.invariant]++
	}
	invariants := regexp.MustCompile(`(?m)^(\d+)\. `).FindAllStringSubmatch(list, -1)
	for _, found := range invariants {
		if n, _ := strconv.Atoi(found[1]); count[n] < 3 {
			t.Errorf("invariant %d has %d mutants, want at least 3", n, count[n])
		}
	}
	if len(invariants) != len(count) {
		t.Errorf("ARCHITECTURE.md has %d invariants, and the table is about %d", len(invariants), len(count))
	}
}

// A text that is gone or not unique, a mutant that changes nothing and a test that does not exist are mistakes in the table.
func TestMistakesInTheTable(t *testing.T) {
	good := mutants[0]
	for want, change := range map[string]func(m *mutant){
		"has 0 times":               func(m *mutant) { m.old = "this text is nowhere" },
		"instead of once":           func(m *mutant) { m.old = "return" },
		"changes nothing":           func(m *mutant) { m.new = m.old },
		"has no test TestOfNothing": func(m *mutant) { m.run += "|TestOfNothing" },
		"no such file":              func(m *mutant) { m.file = "internal/none.go" },
	} {
		bad := good
		change(&bad)
		if err := check(root, []mutant{bad}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// Mutants are tried on a package that is made for it: one whose tests notice, one whose tests do not, one that does not compile, and
// one whose tests fail anyway.
func TestTry(t *testing.T) {
	folder := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":      "module example.com/sum\n\ngo 1.24\n",
		"s/sum.go":    "package s\n\nfunc Sum(a, b int) int { return a + b }\n\nfunc Double(a int) int { return 2 * a }\n",
		"s/s_test.go": "package s\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif Sum(1, 2) != 3 {\n\t\tt.Error(\"wrong\")\n\t}\n}\n",
		"s/bad_test.go": "package s\n\nimport \"testing\"\n\nfunc TestBad(t *testing.T) {\n\tt.Error(\"always\")\n}\n\nfunc TestEnds(t *testing.T) {\n" +
			"\tif Sum(1, 2) != 3 {\n\t\tpanic(\"ends\")\n\t}\n}\n",
	} {
		at := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := &runner{root: folder, scratch: t.TempDir(), sound: map[string]error{}}
	for name, tc := range map[string]struct {
		old, new, run, want string
	}{
		"noticed":          {"a + b", "a - b", "TestSum", ""},
		"a panic":          {"a + b", "a - b", "TestEnds", ""},
		"not noticed":      {"2 * a", "3 * a", "TestSum", errSurvived.Error()},
		"does not compile": {"a + b", "a +", "TestSum", "it does not compile"},
		"fails anyway":     {"a + b", "a - b", "TestBad", "without the mutant: TestBad fails"},
		"no test":          {"a + b", "a - b", "TestNone", "no test ran"},
	} {
		err := r.try(t.Context(), mutant{1, name, "s/sum.go", tc.old, tc.new, "s", tc.run})
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
	if content, err := os.ReadFile(filepath.Join(folder, "s/sum.go")); err != nil || !strings.Contains(string(content), "a + b") {
		t.Errorf("the file was changed: %s, %v", content, err)
	}
}
