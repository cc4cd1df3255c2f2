package query_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// TestCells checks the state of a target on the clusters of each type, including clusters that do not report it.
func TestCells(t *testing.T) {
	const (
		start = `
10:00 register large-01 prod/large
10:00 register large-02 prod/large
10:00 register small-01 prod/small
10:01 platform prod b1 c1 large/shop-east small/shop-east
10:02 application shop prod d1 east=1.0`
		ready  = "\n10:03 report large-01 prod shop/east d1 ready ok"
		other  = "\n10:03 report large-02 prod platform b1 ready ok"
		failed = "\n10:04 report small-01 prod shop/east d1 failed no image"
	)
	for name, tc := range map[string]struct{ facts, want string }{
		"no cluster reports":       {start, "large 2: 0 ready 0 failed 2 missing, small 1: 0 ready 0 failed 1 missing"},
		"one reports":              {start + ready, "large 2: 1 ready 0 failed 1 missing, small 1: 0 ready 0 failed 1 missing"},
		"one fails":                {start + ready + failed, "large 2: 1 ready 0 failed 1 missing, small 1: 0 ready 1 failed 0 missing"},
		"one reports other things": {start + ready + other, "large 2: 1 ready 0 failed 1 missing, small 1: 0 ready 0 failed 1 missing"},
		"all report": {
			start + ready + failed + "\n10:05 report large-02 prod shop/east d1 ready ok",
			"large 2: 2 ready 0 failed 0 missing, small 1: 0 ready 1 failed 0 missing",
		},
	} {
		w := newWorld(t)
		for _, line := range strings.Split(strings.TrimSpace(tc.facts), "\n") {
			w.fact(line)
		}
		o := &query.Observer{Ledger: w.Ledger, Now: func() time.Time { return clock(t, "10:10") }}
		m, err := o.Matrix(t.Context(), query.AssignmentsQuery{Environment: "prod"})
		if err != nil || len(m.Rows) != 1 {
			t.Fatalf("%s: %+v, %v", name, m, err)
		}
		var got []string
		for _, c := range m.Rows[0].Cells {
			s := c.States
			got = append(got, fmt.Sprintf("%s %d: %d ready %d failed %d missing", c.ClusterType, s.Expected, s.Ready, s.Failed, s.Missing))
		}
		if got := strings.Join(got, ", "); got != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, tc.want)
		}
	}
}
