package query_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// TestRemovedEnvironmentsAreNotServed has one that the ledger and the last promotion round know, and the control plane not any more.
func TestRemovedEnvironmentsAreNotServed(t *testing.T) {
	l := newWorld(t).Ledger
	commit := strings.Repeat("a", 40)
	then := time.Now().Add(-time.Hour)
	err := l.RecordStep(t.Context(), ledger.Step{
		PromotionID: ledger.PromotionID{Subject: "https://git.example.com/cp", Environment: "prod", Commit: commit}, Kind: string(decide.StepDeployed), At: then,
	})
	if err != nil {
		t.Fatal(err)
	}
	plane := query.ControlPlane{
		URL: "https://git.example.com/cp",
		Promotion: &promote.Outcome{Environments: []promote.Standing{
			{Environment: "dev", Commit: commit, Phase: decide.Good}, {Environment: "prod", Commit: commit, Phase: decide.Good},
		}},
	}
	progress := func(fleet query.Fleet) (query.Progress, error) {
		o := &query.Observer{Ledger: l, Fleet: fleet, Now: time.Now}
		return o.Progress(t.Context(), query.ProgressQuery{Environment: "prod"})
	}
	if p, err := progress(planes{plane}); err != nil || p.Result != query.ProgressPassed {
		t.Fatalf("before: %+v, %v", p, err)
	}
	plane.Environments = []string{"dev"}
	var unknown *query.UnknownError
	if p, err := progress(planes{plane}); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "does not exist any more") {
		t.Errorf("after: %+v, %v", p, err)
	}
	o := &query.Observer{Ledger: l, Fleet: planes{plane}, Now: time.Now}
	if page, err := o.Environments(t.Context(), query.EnvironmentsQuery{}); err != nil || len(page.Items) != 1 {
		t.Errorf("listed: %+v, %v", page.Items, err)
	}
	if _, err := o.Environment(t.Context(), query.EnvironmentQuery{Name: "prod", AsOf: time.Now()}); err != nil {
		t.Errorf("the past: %v", err)
	}
}
