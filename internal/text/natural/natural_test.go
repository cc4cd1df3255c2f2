package natural_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/text/natural"
)

func TestNumbersCount(t *testing.T) {
	want := []string{
		"", "-", "7", "007", "8", "10", "18446744073709551616", "18446744073709551617", "large", "large-1", "large-2", "large-2-a", "large-02-a",
		"large-10", "large-10a", "large-a", "small-1",
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	natural.Sort(got)
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

// TestOrderIsTotal checks that sorting has one result for all names.
func TestOrderIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a0-2-]{0,6}`)
		a, b, c := name.Draw(t, "a"), name.Draw(t, "b"), name.Draw(t, "c")
		if natural.Compare(a, b) != -natural.Compare(b, a) || natural.Compare(a, b) == 0 && a != b {
			t.Fatalf("%q and %q have no order", a, b)
		}
		if natural.Compare(a, b) < 0 && natural.Compare(b, c) < 0 && natural.Compare(a, c) >= 0 {
			t.Fatalf("%q, %q and %q are in a circle", a, b, c)
		}
	})
}

func TestKeysCompareLikeNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.StringMatching(`[ab.0-2-]{0,12}`), rapid.StringMatching(`a?[0-9]{0,40}b?`))
		a, b := name.Draw(t, "a"), name.Draw(t, "b")
		if natural.Compare(a, b) != strings.Compare(natural.Key(a), natural.Key(b)) {
			t.Errorf("Compare(%q, %q) = %d, their keys are %q and %q", a, b, natural.Compare(a, b), natural.Key(a), natural.Key(b))
		}
	})
}
