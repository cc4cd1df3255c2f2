package wiring

import (
	"slices"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// autoMerging enables automatic merging for the environment dev.
func (w *world) autoMerging() {
	w.Helper()
	w.Edit("dev", "gitops-repo.yaml", "branch: dev", "branch: dev\n  autoMerge: true")
	w.Push(fleettest.GitOps, "dev", map[string]string{"README.md": "started\n"})
}

func (w *world) say(commit, context string, state forge.StatusState) {
	w.Helper()
	if err := w.Repo(fleettest.GitOps).SetStatus(w.Context(), commit, forge.Status{Context: context, State: state}); err != nil {
		w.Fatal(err)
	}
}

// wantMerged checks whether the newest pull request was merged.
func (w *world) wantMerged(merged bool, when string) {
	w.Helper()
	if is := w.PullRequests()[0].State == forge.Merged; is != merged {
		w.Errorf("%s: the change is %s", when, w.PullRequests()[0].State)
	}
}

func TestAutoMergeWaitsForChecks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.round("dev") // the pull request is opened before its environment enables automatic merging
	head := w.OpenPullRequest().Head.Commit
	w.say(head, "build", forge.Pending)
	w.Edit("dev", "gitops-repo.yaml", "branch: dev", "branch: dev\n  autoMerge: true")
	if o := w.round("dev"); o.Waits != "status build is pending" {
		t.Errorf("waits: %q", o.Waits)
	}
	w.wantMerged(false, "a check is pending")
	w.say(head, "build", forge.Failure)
	w.round("dev")
	w.wantMerged(false, "a check failed")
	w.say(head, "build", forge.Success)
	w.round("dev")
	w.wantMerged(true, "all checks succeeded")
}

// protect requires checks on the base branch.
func (w *world) protect(checks ...string) {
	w.Helper()
	if err := w.Repo(fleettest.GitOps).(forge.Protector).Protect(w.Context(), "dev", forge.Protection{PullRequestsOnly: true, Checks: checks}); err != nil {
		w.Fatal(err)
	}
}

func TestForgeMergesWhenOurStatusIsRequired(t *testing.T) {
	t.Parallel()
	w, gitea := newGiteaWorld(t)
	w.autoMerging()
	w.protect("build", pullrequest.StatusDeletions, pullrequest.StatusChecks)
	first := w.round("dev")
	if !slices.Contains(first.Did, "requested the merge of pull request 1") {
		t.Fatalf("did %v", first.Did)
	}
	gitea.Faults.Clear()
	if again := w.round("dev"); len(again.Did) > 0 || again.Waits == "" {
		t.Errorf("a second round did %v, waits: %q", again.Did, again.Waits)
	}
	if requests := gitea.Faults.Requests(""); len(requests) > 2 {
		t.Errorf("waiting asks the forge %d times: %v", len(requests), requests)
	}
	w.say(w.OpenPullRequest().Head.Commit, "build", forge.Success)
	w.wantMerged(true, "the check succeeded, and no round was done")
}

func TestForgeDoesNotMergeLargeRemovals(t *testing.T) {
	t.Parallel()
	w, _ := newGiteaWorld(t)
	w.autoMerging()
	w.protect("build")
	if o := w.round("dev"); o.PullRequest.State != forge.Open {
		t.Fatalf("did %v", o.Did)
	}
	head := w.OpenPullRequest().Head.Commit
	w.say(head, "build", forge.Success)
	w.wantMerged(false, "the forge was not asked")
	w.round("dev")
	w.wantMerged(true, "a round after the check")
}

func TestAChangeOfThePromotedCommitHasALabel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.round("dev")
	w.Merge()
	w.Edit("dev", "base-repo.yaml", "path: .", "path: .\n  commit: "+w.Head(fleettest.ControlPlane, "main"))
	o := w.round("dev")
	if !w.OpenPullRequest().HasLabel(pullrequest.LabelPromoted) {
		t.Errorf("no label, though the promoted commit changes: %v", o.Did)
	}
	// With or without changes other than the tracking file.
	if c := o.Plan.Counts; c.Added+c.Changed+c.Removed != 0 {
		t.Errorf("counts: %+v", c)
	}
}
