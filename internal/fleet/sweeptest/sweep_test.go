package sweeptest

import (
	"slices"
	"strconv"
	"testing"
)

func TestPoints(t *testing.T) {
	t.Setenv(variable, "all")
	if got := Points(t, 3); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("all: got %v", got)
	}
	for _, n := range []int{1, 2, 8, 30, 500} {
		tried := map[int]bool{}
		for turn := range max(step, n/between) {
			t.Setenv(variable, strconv.Itoa(turn))
			points := Points(t, n)
			if !slices.Equal(points, Points(t, n)) {
				t.Errorf("%d points: another sample the second time", n)
			}
			if points[0] != 0 || points[len(points)-1] != n-1 || len(points) > between+3 || !slices.IsSorted(points) {
				t.Errorf("%d points: got %v", n, points)
			}
			for _, p := range points {
				tried[p] = true
			}
		}
		if len(tried) != n {
			t.Errorf("%d points: only %d are ever tried", n, len(tried))
		}
	}
	if got := Points(t, 0); len(got) != 0 {
		t.Errorf("nothing to interrupt: got %v", got)
	}
}
