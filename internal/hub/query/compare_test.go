package query_test

import (
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// TestAProposedCommitIsNotTheSame: clusters run another commit until the pull request with the manifests is merged.
func TestAProposedCommitIsNotTheSame(t *testing.T) {
	for phase, same := range map[decide.State]bool{decide.Good: true, decide.Applying: true, decide.Failed: true, decide.Proposed: false, decide.TakenBack: false} {
		o := &query.Observer{Ledger: newWorld(t).Ledger, Now: time.Now, Fleet: planes{{
			URL: controlPlane, Environments: []string{"dev", "stage"},
			Promotion: &promote.Outcome{Environments: []promote.Standing{
				{Environment: "dev", Phase: decide.Good, Commit: sha("c1")}, {Environment: "stage", Phase: phase, Commit: sha("c1")},
			}},
			Scheduling: map[string]*query.Scheduled{"dev": round(t), "stage": round(t)},
		}}}
		c, err := o.Compare(t.Context(), query.CompareQuery{A: "dev", B: "stage"})
		if err != nil {
			t.Fatal(err)
		}
		if c.SameCommit != same || c.B.Phase != phase {
			t.Errorf("stage is %s: got %v, %s", phase, c.SameCommit, c.B.Phase)
		}
	}
}

// TestTheOnlyTargetsOfAWorkloadAreCompared: nginx has the target dev in dev and the target stage in stage.
func TestTheOnlyTargetsOfAWorkloadAreCompared(t *testing.T) {
	at := clock(t, "11:00")
	o := &query.Observer{Ledger: newWorld(t).Ledger, Now: time.Now, Fleet: planes{{
		URL: controlPlane, Environments: []string{"dev", "stage"}, Promotion: &promote.Outcome{},
		Scheduling: map[string]*query.Scheduled{
			"dev":   scheduled("dev", "nginx dev\nshop web\nshop api\nlarge size=large", nil, at),
			"stage": scheduled("stage", "nginx stage\nshop web\nlarge size=large", nil, at),
		},
	}}}
	c, err := o.Compare(t.Context(), query.CompareQuery{A: "dev", B: "stage"})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Targets) != 1 || c.Targets[0].Target != "api" || c.Targets[0].In != query.InA || c.Same.Targets != 2 {
		t.Errorf("got %+v, %d the same", c.Targets, c.Same.Targets)
	}
}
