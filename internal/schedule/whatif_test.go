package schedule

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// A plan of an imagined change has what the change causes, and not what is pending without it.
func TestWhatIfShowsOnlyWhatItCauses(t *testing.T) {
	s := helloFleet(t, nil)
	s.publish(t, "dev")
	const config = "control-plane/dev/cluster-types/west-us/west-us-config.yaml"
	s.files[config] = strings.ReplaceAll(s.files[config], "mysql://west", "mysql://east")
	if _, pending := s.plan(t, "dev", ""); pending.Counts.Changed == 0 {
		t.Fatalf("nothing is pending: %+v", pending.Counts)
	}
	for change, want := range map[string]plan.Counts{
		"label:clusterType/large/unused=yes": {Unchanged: 10},
		"clusterType:large=absent":           {Removed: 3, Unchanged: 7},
	} {
		w, err := fleet.ParseWhatIf(change)
		if err != nil {
			t.Fatal(err)
		}
		d := s.draft(t, DraftRequest{Request: Request{Environment: "dev"}, WhatIf: []fleet.WhatIf{w}})
		if d.Plan.Counts != want || d.Plan.Before != "the same without what is imagined" {
			t.Errorf("%s: got %+v, compared with %q; want %+v", change, d.Plan.Counts, d.Plan.Before, want)
		}
	}
}
