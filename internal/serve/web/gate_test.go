package web

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBarsShowEveryState(t *testing.T) {
	for name, c := range map[string]struct {
		counts []stateCount
		want   []barPart
	}{
		"nothing":              {[]stateCount{{"reached", 0}}, nil},
		"all":                  {[]stateCount{{"reached", 3}, {"failed", 0}}, []barPart{{good, 0, 100}}},
		"as they are":          {[]stateCount{{"reached", 3}, {"failed", 1}}, []barPart{{good, 0, 75}, {bad, 75, 25}}},
		"4 of 1203 run it":     {[]stateCount{{"reached", 4}, {"behind", 1199}}, []barPart{{good, 0, 2}, {move, 2, 98}}},
		"1 of 10000 fails":     {[]stateCount{{"reached", 9999}, {"failed", 1}}, []barPart{{good, 0, 98}, {bad, 98, 2}}},
		"one of each, of many": {[]stateCount{{"reached", 1}, {"behind", 9997}, {"failed", 1}, {"offline", 1}}, []barPart{{good, 0, 2}, {move, 2, 94}, {bad, 96, 2}, {off, 98, 2}}},
	} {
		if diff := cmp.Diff(c.want, barOf(c.counts)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}
