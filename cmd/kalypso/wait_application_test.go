package main

import (
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// TestWaitForAnApplicationOfAServer: the server knows what its last round found; what only the ledger knows, it says as well.
func TestWaitForAnApplicationOfAServer(t *testing.T) {
	q := newQuestioned(t)
	commit, other := strings.Repeat("4", 40), strings.Repeat("5", 40)
	q.fleet.found = []query.ControlPlane{{URL: "https://git.example/control-plane", Applications: []*query.Application{{
		Name: "shop", Subject: "https://git.example/shop#shop", Line: []promote.Commit{{SHA: other}, {SHA: commit}},
		Environments: []query.ApplicationEnvironment{
			{Environment: "dev", Phase: decide.Good, Reason: "runs on 1 cluster", Build: &deliver.Build{Commit: commit}, Gate: &query.Gate{}},
			{Environment: "stage", After: []string{"dev"}, Phase: decide.Failed, Reason: "stage-1 failed", Build: &deliver.Build{Commit: commit}},
		},
	}}}}
	step := ledger.Step{
		PromotionID: ledger.PromotionID{Subject: "https://git.example/cart#cart", Environment: "dev", Commit: commit},
		Kind:        string(promote.StateChanged), Reason: "runs on 2 clusters", Detail: []byte(`{"phase":"good"}`), At: time.Now(),
	}
	if err := q.ledger.RecordStep(t.Context(), step); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]struct {
		code int
		says string
	}{
		"wait --application shop -e dev --commit 4444444":   {0, "dev  4444444  passed  0/0  runs on 1 cluster\n"},
		"wait --application shop -e dev --commit " + other:  {0, "dev  5555555  passed  -  the newer commit 4444444 took its place; runs on 1 cluster\n"},
		"wait --application shop -e stage --commit 4444444": {3, "stage  4444444  failed  -  stage-1 failed\n"},
		"wait --application cart -e dev":                    {0, "dev  4444444  passed  -  runs on 2 clusters\n"},
		"wait --application shop -e prod":                   {1, `no environment "prod"`},
		"wait --application chart -e dev":                   {1, `no application "chart"; near it are cart`},
	} {
		code, out, stderr := q.run(q.token, strings.Fields(command+" --timeout 2m")...)
		if code != want.code || !strings.Contains(out+stderr, want.says) {
			t.Errorf("%s: exit code %d, %q and %q", command, code, out, stderr)
		}
	}
}
