package placement

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet/casetest"
)

// Each case of peers is the input of a public test of another scheduler, in the terms of this one, and names its source.
// "expected" is what that test expects, written by hand: -update never changes it. The other parts are as in TestRules.
func TestPeers(t *testing.T) {
	casetest.Run(t, "testdata/peers/*.txtar", func(t *testing.T, c casetest.Case) {
		d := decideCase(t, c)
		lines := strings.Split(strings.TrimSpace(c.Text("expected")), "\n")
		for _, line := range lines {
			target, want, found := strings.Cut(line, ":")
			if !found {
				t.Fatalf("expected: %q has no target", line)
			}
			if got := clusterTypesOf(d, target); !meets(t, got, want) {
				t.Errorf("%s is on %s, the other scheduler expects %s", target, strings.Join(got, " "), strings.TrimSpace(want))
			}
		}
	})
}

func clusterTypesOf(d *Decisions, target string) []string {
	var on []string
	for _, ct := range d.clusterTypes {
		for _, a := range d.For(ct.Name) {
			if a.Target.String() == target {
				on = append(on, ct.Name)
			}
		}
	}
	return on
}

// meets reports whether a target is on exactly the expected cluster types. "a b, 2 of c d e" are a, b and any two of the others:
// schedulers break ties differently.
func meets(t *testing.T, got []string, expected string) bool {
	t.Helper()
	rest := slices.Clone(got)
	for part := range strings.SplitSeq(expected, ",") {
		names := strings.Fields(part)
		wanted := len(names)
		if len(names) > 2 && names[1] == "of" {
			var err error
			if wanted, err = strconv.Atoi(names[0]); err != nil {
				t.Fatalf("expected: %v", err)
			}
			names = names[2:]
		}
		before := len(rest)
		rest = slices.DeleteFunc(rest, func(ct string) bool { return slices.Contains(names, ct) })
		if before-len(rest) != wanted {
			return false
		}
	}
	return len(rest) == 0
}
