package model

import (
	"os"
	"testing"
	"time"
)

// TestExplore explores all configurations. With KALYPSO_EXPLORE=large, it explores the large ones instead, which takes minutes: see
// make check-model.
func TestExplore(t *testing.T) {
	all, most := configurations, limit
	if os.Getenv("KALYPSO_EXPLORE") == "large" {
		all, most = large, 100*limit
	}
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			m, before := newModel(c), time.Now()
			x := m.explore(most)
			t.Logf("%s; %d decisions; %s", x, m.asked, time.Since(before).Round(time.Millisecond))
			switch {
			case x.violation != nil:
				t.Error("the fleet does what it must not do")
			case x.states >= most:
				t.Error("there is no end of states")
			case x.states < c.states:
				t.Errorf("there were at least %d states: is something not explored any more?", c.states)
			}
		})
	}
}
