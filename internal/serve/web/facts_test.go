package web_test

import (
	"encoding/json"
	"time"

	fleetpkg "github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

const (
	controlPlane = "https://git.example.com/acme/control-plane"
	gitOps       = "https://git.example.com/acme/gitops"
	application  = "https://git.example.com/acme/hello-gitops"

	promoted = "1111111111111111111111111111111111111111" // a commit of main
	older    = "2222222222222222222222222222222222222222" // the previous one
	dev1     = "d111111111111111111111111111111111111111" // of the GitOps branch dev
	app1     = "a111111111111111111111111111111111111111" // of the application's branch dev
)

// fleetOfThree adds dev, where one of three clusters fails, and stage, which waits for it.
func (w *world) fleetOfThree() *world {
	for _, name := range []string{"large-01", "large-02", "large-03"} {
		w.register(name, ledger.Membership{Environment: "dev", ClusterType: "large"})
	}
	w.must(w.ledger.RecordCommit(w.t.Context(), ledger.Commit{
		Repository: gitOps, Branch: "dev", SHA: dev1, Kind: ledger.BranchPlatform, Environment: "dev", SourceCommit: promoted,
		Committed: noon.Add(-50 * time.Minute), Recorded: noon.Add(-50 * time.Minute),
		Assignments: []ledger.Assignment{{ClusterType: "large", Target: "hello-test", Workload: "hello", Workspace: "team-a"}},
	}))
	w.must(w.ledger.RecordCommit(w.t.Context(), ledger.Commit{
		Repository: application, Branch: "dev", SHA: app1, Kind: ledger.BranchApplication, Environment: "dev",
		Committed: noon.Add(-55 * time.Minute), Recorded: noon.Add(-55 * time.Minute),
		Versions: []ledger.Version{{
			Workload: "hello", Workspace: "team-a", Target: "test", Environment: "dev", Path: "test", Version: "1.4.2", Built: noon.Add(-2 * time.Hour),
		}},
	}))
	for i, name := range []string{"large-01", "large-02"} {
		w.report(name, "platform", ledger.Source{Repository: gitOps, Ref: "dev", Path: "large"}, dev1, ledger.StateReady, "", 40-i)
		w.report(name, "hello", ledger.Source{Repository: application, Ref: "dev", Path: "test"}, app1, ledger.StateReady, "", 35-i)
	}
	w.report("large-03", "platform", ledger.Source{Repository: gitOps, Ref: "dev", Path: "large"}, dev1, ledger.StateFailed, "no <b>image</b>\x1b[31m", 30)
	w.step("dev", "started", "", 52, promote.Detail{})
	w.step("dev", "published", "the GitOps branch has its manifests", 50, promote.Detail{Revision: dev1})
	w.step("dev", "stateChanged", "1111111 waits: 3 of 3 clusters behind", 50, promote.Detail{Phase: decide.Applying})
	w.step("dev", "statusPosted", "Applying 0/3", 50, promote.Detail{Status: "pending"})
	w.step("dev", "verified", "it answers", 20, promote.Detail{Check: "smoke", Result: decide.CheckPassed, Output: "GET /\n<script>200</script>", Took: "2s"})
	w.fleet = fleet{w.standings()}
	return w
}

func (w *world) standings() query.ControlPlane {
	verdict := comply.Verdict{
		Commit: dev1, Result: comply.Failed, Reason: "large-03 fails", Counts: comply.Counts{Expected: 3, Counted: 3, Required: 3, Reached: 2, Failed: 1},
		Reconcilers: []comply.Reconciler{
			{Cluster: "large-01", ClusterType: "large", Name: "Kustomization flux-system/platform", State: comply.Reached, Reason: "runs it"},
			{Cluster: "large-02", ClusterType: "large", Name: "Kustomization flux-system/platform", State: comply.Reached, Reason: "runs it"},
			{Cluster: "large-03", ClusterType: "large", Name: "Kustomization flux-system/platform", State: comply.Broken, Reason: "no <b>image</b>", Since: noon.Add(-30 * time.Minute)},
		},
	}
	problem := fleetpkg.Problem{
		Severity: fleetpkg.SeverityError, Kind: "yaml-syntax", Message: "a <tab> where spaces belong", Hint: "write spaces",
		Position: fleetpkg.Position{Source: "dev", File: "cluster-types/large.yaml", Line: 7},
	}
	return query.ControlPlane{
		URL: controlPlane,
		Promotion: &promote.Outcome{Subject: controlPlane, Environments: []promote.Standing{
			{
				Environment: "dev", Phase: decide.Failed, Commit: promoted, Reason: "1111111 failed: large-03 fails", Since: noon.Add(-30 * time.Minute),
				GitOps: promote.GitOps{Repo: gitOps, Branch: "dev"}, Rollout: decide.Rollout{State: decide.RolloutMerged, Commit: dev1}, Verdict: verdict,
			},
			{
				Environment: "stage", Phase: decide.Good, Commit: older, Candidate: promoted, After: []string{"dev"},
				Reason: "1111111 waits: it has to run in dev first", Pause: &decide.Pause{By: "Ann", Why: "sale until Monday", At: noon.Add(-time.Hour)},
			},
		}},
		Scheduling: map[string]*query.Scheduled{"dev": {At: noon.Add(-time.Minute), Outcome: &schedule.Outcome{
			Plan:        &plan.Plan{Environment: "dev", Counts: plan.Counts{Added: 2, Unchanged: 1}, Problems: []fleetpkg.Problem{problem}, Assignments: []plan.Change{{Op: plan.Added, ClusterType: "large", Target: "hello-test"}}},
			PullRequest: &forge.PullRequest{Number: 12, Title: "dev: 2 added", URL: "javascript:alert(1)", CreatedAt: noon.Add(-10 * time.Minute)},
		}}},
	}
}

func (w *world) report(cluster, name string, source ledger.Source, revision string, state ledger.State, message string, minutesAgo int) {
	w.t.Helper()
	w.reportOutcome(cluster, name, ledger.Outcome{Source: source, Revision: revision, State: state, Message: message}, minutesAgo)
}

func (w *world) reportOutcome(cluster, name string, o ledger.Outcome, minutesAgo int) {
	w.t.Helper()
	at := noon.Add(-time.Duration(minutesAgo) * time.Minute)
	w.must(w.ledger.Report(w.t.Context(), ledger.Report{
		Reconciler: ledger.ReconcilerID{Cluster: cluster, Kind: "Kustomization", Namespace: "flux-system", Name: name},
		Outcome:    o, Observed: at, Received: at,
	}))
	w.must(w.ledger.Heard(w.t.Context(), cluster, noon.Add(-time.Minute)))
}

func (w *world) step(environment, kind, reason string, minutesAgo int, d promote.Detail) {
	w.t.Helper()
	detail, err := json.Marshal(d)
	w.must(err)
	w.must(w.ledger.RecordStep(w.t.Context(), ledger.Step{
		PromotionID: ledger.PromotionID{Subject: controlPlane, Commit: promoted, Environment: environment},
		Kind:        kind, Reason: reason, At: noon.Add(-time.Duration(minutesAgo) * time.Minute), Detail: detail,
	}))
}
