package query_test

import (
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
)

// TestPromotionOfAControlPlaneInAnotherSpelling checks that the
// configuration can spell a URL differently from the ledger.
func TestPromotionOfAControlPlaneInAnotherSpelling(t *testing.T) {
	w := newWorld(t)
	const written = "http://127.0.0.1:8080/platform/control-plane"
	commit := sha("abcdef1")
	step := ledger.Step{
		PromotionID: ledger.PromotionID{Subject: ledger.CleanRepository(written), Commit: commit, Environment: "dev"}, Kind: "started", At: clock(t, "10:00"),
	}
	if err := w.RecordStep(t.Context(), step); err != nil {
		t.Fatal(err)
	}
	o := &query.Observer{
		Ledger: w.Ledger, Now: func() time.Time { return clock(t, "11:00") },
		Fleet: planes{{URL: written, Promotion: &promote.Outcome{Environments: []promote.Standing{{Environment: "dev", Commit: commit}}}}},
	}
	for _, subject := range []string{"", written} {
		d, err := o.Promotion(t.Context(), query.PromotionQuery{Commit: commit, Subject: subject})
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Stages) != 1 || !d.Stages[0].Current || len(d.Stages[0].Steps) != 1 {
			t.Errorf("got %+v, want one stage that is current and has a step", d)
		}
	}
}
