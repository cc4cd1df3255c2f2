package promote_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// TestAClockThatWasSetBackIsSaid checks that the outcome of a round says until when time stands still, and what to do.
func TestAClockThatWasSetBackIsSaid(t *testing.T) {
	b := newBench(t, map[string]*v1alpha1.Promotion{"dev": {}}, "one")
	setBack := func(p fleet.Problem) bool { return p.Kind == fleet.KindClockSetBack && p.Hint != "" }
	if o := b.round(); slices.ContainsFunc(o.Problems, setBack) {
		t.Fatalf("before: %v", o.Problems)
	}
	b.now = b.now.Add(-24 * time.Hour)
	o := b.round()
	if !slices.ContainsFunc(o.Problems, setBack) || !strings.Contains(o.Environments[0].Reason, "stand still until 20") {
		t.Errorf("%v, %s", o.Problems, o.Environments[0].Reason)
	}
	b.now = b.now.Add(48 * time.Hour)
	if o := b.round(); slices.ContainsFunc(o.Problems, setBack) {
		t.Errorf("afterwards: %v", o.Problems)
	}
}
