package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// deliveredShop is an application with a build that waits in stage, and another one that fails in dev.
func deliveredShop() *query.Application {
	older, newer := &deliver.Build{Commit: strings.Repeat("1", 40), Version: "1.4.0"}, &deliver.Build{Commit: strings.Repeat("2", 40), Version: "1.5.0"}
	return &query.Application{
		Name: "shop", Subject: "https://git.example/shop#shop", LastRound: time.Now(),
		Environments: []query.ApplicationEnvironment{
			{
				Environment: "dev", Build: newer, Phase: decide.Failed, Reason: "1 of 2 clusters failed: large-03", Drift: 1,
				Gate: &query.Gate{
					Result: comply.Failed, Counts: comply.Counts{Counted: 2, Reached: 1},
					Worst:  []comply.Reconciler{{Cluster: "large-03", State: comply.Broken, Reason: "fails at 2222222: no image"}},
					Causes: []comply.Cause{{State: comply.Broken, Count: 1, Clusters: []string{"large-03"}, Reason: "fails at 2222222: no image"}},
				},
				Detail: &query.ApplicationEnvironmentDetail{},
			},
			{
				Environment: "stage", Build: older, Phase: decide.Proposed, Reason: "waits for its pull request to be merged",
				Change: &query.Change{Number: 7, URL: "https://git.example/shop-gitops/pulls/7"}, Detail: &query.ApplicationEnvironmentDetail{},
			},
		},
	}
}

func TestApplicationsAreSeenFromAServer(t *testing.T) {
	q := newQuestioned(t)
	q.fleet.found = []query.ControlPlane{{URL: "https://git.example/control-plane", Applications: []*query.Application{deliveredShop()}}}
	code, out, text := q.run(q.token, "status")
	want := `APPLICATION  dev               stage
shop         1.5.0 failed 1/2  1.4.0 proposed

shop dev    1 file changed by hand
shop dev    large-03 fails at 2222222: no image; see kalypso cluster show large-03
shop stage  pull request to merge: https://git.example/shop-gitops/pulls/7
`
	if code != 0 || !strings.HasSuffix(out, "\n\n"+want) {
		t.Errorf("status: got %d, %s\n%s", code, out, text)
	}
	code, out, text = q.run(q.token, "app", "status", "shop")
	want = `ENVIRONMENT  BUILD  PHASE     GATE  REASON
dev          1.5.0  failed    1/2   1 of 2 clusters failed: large-03
stage        1.4.0  proposed  -     waits for its pull request to be merged

dev    1 file changed by hand
dev    large-03 fails at 2222222: no image; see kalypso cluster show large-03
stage  pull request to merge: https://git.example/shop-gitops/pulls/7
`
	if diff := cmp.Diff(out, want); code != 0 || diff != "" {
		t.Errorf("app status: got %d, %s (-got +want):\n%s", code, text, diff)
	}
	code, out, _ = q.run(q.token, "app", "status", "shop", "-e", "stage", "-o", "json")
	var a query.ApplicationDetail
	if err := json.Unmarshal([]byte(out), &a); err != nil || code != 0 || len(a.Environments) != 1 || a.Environments[0].Environment != "stage" {
		t.Errorf("got %d, %v: %s", code, err, out)
	}
	if code, _, text := q.run(q.token, "app", "status", "shp"); code != 1 || !strings.Contains(text, "near it are shop") {
		t.Errorf("an application that nobody knows: got %d, %s", code, text)
	}
}
