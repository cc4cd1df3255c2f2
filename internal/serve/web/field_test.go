package web

import (
	"strings"
	"testing"
)

// TestFieldHasASquareForEachCluster, and few failing ones among many have one as well.
func TestFieldHasASquareForEachCluster(t *testing.T) {
	for _, tc := range []struct {
		failed, reached int
		squares         []int
		label           string
	}{
		{1, 2, []int{1, 2}, "1 failed, 2 reached"},
		{0, 480, []int{480}, "480 reached"},
		{3, 9997, []int{1, 477}, "3 failed, 9,997 reached"},
	} {
		f := fieldOf([]stateCount{{"failed", tc.failed}, {"reached", tc.reached}})
		if f.Label != tc.label {
			t.Errorf("got the label %q, want %q", f.Label, tc.label)
		}
		for i, want := range tc.squares {
			if got := strings.Count(f.Paths[i].Path, "M"); got != want {
				t.Errorf("%s: part %d has %d squares, want %d", tc.label, i, got, want)
			}
		}
	}
	if fieldOf([]stateCount{{"failed", 0}}) != nil {
		t.Error("nothing is drawn")
	}
}
