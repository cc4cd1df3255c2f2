package wiring

import (
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/local"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// reviewWorld is a world whose only environment waits for the approval of anna, on the pull requests of its GitOps branch.
type reviewWorld struct {
	*promotionWorld
	through forge.Forge
}

// plain is a forge that no test interrupts.
type plain struct{ forge.Forge }

func newReviewWorld(t *testing.T) *reviewWorld {
	t.Helper()
	w := &reviewWorld{promotionWorld: newPromotionWorld(t, map[string]string{"dev": "{verify: [{name: release, approval: {groups: [release]}}]}"})}
	w.Push(fleettest.ControlPlane, "dev", map[string]string{
		"gitops-repo.yaml": strings.ReplaceAll(strings.ReplaceAll(gitOpsRepoFile, "NAME", "dev"), "  autoMerge: true\n", ""),
	})
	w.through = plain{w.Host}
	config := &serve.Config{People: []forge.Person{{User: "anna@example.com", Groups: []string{"release"}, Logins: map[string]string{"local": "anna"}}}}
	w.promoter.People = NewPeople(config, forge.Forges{w.through})
	return w
}

// rest runs minutes until nothing is left to do.
func (w *reviewWorld) rest() *promote.Outcome {
	w.Helper()
	for range 20 {
		o, err := w.minuteThrough(w.through)
		if err != nil {
			w.Fatal(err)
		}
		if len(o.Did) == 0 {
			return o
		}
	}
	w.Fatal("it does not come to rest")
	return nil
}

// change adds a commit to main that changes manifests.
func (w *reviewWorld) change(what string) {
	w.Helper()
	w.Push(fleettest.ControlPlane, "main", map[string]string{"templates/readme.md": what + "\n"})
}

// approved lets both commits that are there be reviewed and deployed, one after the other.
func (w *reviewWorld) approved() {
	w.Helper()
	for range 2 {
		w.rest()
		w.review("anna")
		w.publish()
	}
	if s := standing(w.rest(), "dev"); s.Phase != decide.Good {
		w.Fatal(s.Reason)
	}
}

// offered returns the open pull request to the GitOps branch.
func (w *reviewWorld) offered() forge.PullRequest {
	w.Helper()
	open, err := w.Repo(fleettest.GitOps).FindPullRequests(w.Context(), forge.PullRequestFilter{State: forge.Open})
	if err != nil || len(open) != 1 {
		w.Fatalf("%d pull requests, %v", len(open), err)
	}
	return open[0]
}

// review approves the open pull request as an account.
func (w *reviewWorld) review(login string) {
	w.Helper()
	repo, err := w.Host.(*local.Forge).As(local.Account{Name: login, Right: local.Write}).Repository(w.URL + "/" + fleettest.GitOps)
	if err == nil {
		p := w.offered()
		err = repo.(*local.Repository).Approve(w.Context(), p.Number, p.Head.Commit)
	}
	if err != nil {
		w.Fatal(err)
	}
}

// publish merges the open pull request as it is.
func (w *reviewWorld) publish() {
	w.Helper()
	p := w.offered()
	if _, err := w.Repo(fleettest.GitOps).MergePullRequest(w.Context(), p.Number, forge.Merge{Head: p.Head.Commit}); err != nil {
		w.Fatal(err)
	}
}

// TestAReviewOnTheForgeApproves approves a rollout by reviewing its pull request. The approval is one of that rollout only.
func TestAReviewOnTheForgeApproves(t *testing.T) {
	t.Parallel()
	w := newReviewWorld(t)
	w.approved()
	w.change("one")
	w.rest()
	w.review("anna")
	w.review("mallory")
	w.publish()
	commit := w.Head(fleettest.ControlPlane, "main")
	o := w.rest()
	w.want(o, "dev", decide.Good, commit)
	if got := standing(o, "dev").Checks[0].Approvals; len(got) != 1 || got[0].By != "anna@example.com" || !strings.HasSuffix(got[0].URL, "/pulls/3") {
		t.Errorf("approvals: %+v", got)
	}
	if got := w.status(commit, "dev/release"); got != "success Approved by anna@example.com" {
		t.Errorf("status %q", got)
	}
	if steps := strings.Join(w.steps("dev"), ", "); strings.Count(steps, "reviewed "+commit[:7]) != 1 {
		t.Errorf("steps: %s", steps)
	}
}

// TestAPushAfterTheApproval: a developer adds a commit to a pull request that is approved, and merges it.
func TestAPushAfterTheApproval(t *testing.T) {
	t.Parallel()
	w := newReviewWorld(t)
	w.approved()
	w.change("one")
	w.rest()
	w.review("anna")
	w.Push(fleettest.GitOps, "kalypso/dev", map[string]string{"large/notes.md": "applied by nothing\n"})
	w.publish()
	o := w.rest()
	w.want(o, "dev", decide.Awaiting, w.Head(fleettest.ControlPlane, "main"))
	if s := standing(o, "dev"); !strings.Contains(s.Reason, "0 of 1 approvals by members of release; anna@example.com approved ") || !strings.HasSuffix(s.Reason, " was merged") {
		t.Error(s.Reason)
	}
}

// TestAPushedFileIsNotPromoted pushes a file to the branch of a pull request that clusters would apply. Whatever is
// approved, the commit is not what was rendered, until someone removes the file.
func TestAPushedFileIsNotPromoted(t *testing.T) {
	t.Parallel()
	w := newReviewWorld(t)
	w.approved()
	w.change("one")
	w.rest()
	w.Push(fleettest.GitOps, "kalypso/dev", map[string]string{"large/more.yaml": "kind: ConfigMap\n"})
	w.review("anna")
	w.publish()
	o := w.rest()
	w.want(o, "dev", decide.Rejected, w.Head(fleettest.ControlPlane, "main"))
	s := standing(o, "dev")
	if !strings.Contains(s.Reason, "large/more.yaml: the GitOps branch differs from what Kalypso rendered: commit ") || !strings.HasSuffix(s.Reason, " by somebody added it") {
		t.Error(s.Reason)
	}
	if stage := standing(o, "stage"); stage.Commit == s.Commit {
		t.Errorf("stage has %s: %s", stage.Commit, stage.Reason)
	}
	w.Push(fleettest.GitOps, "dev", map[string]string{"large/more.yaml": ""})
	w.want(w.rest(), "dev", decide.Awaiting, s.Commit)
}

// TestFilesOfOthersStopNothingOncePermitted has another program write its files beside an assignment and outside of
// Kalypso's folders. Those beside stop promotion until the control plane permits them.
func TestFilesOfOthersStopNothingOncePermitted(t *testing.T) {
	t.Parallel()
	w := newReviewWorld(t)
	w.approved()
	w.Push(fleettest.GitOps, "dev", map[string]string{".github/ci.yaml": "kind: X\n", "flux-system/sync.yaml": "kind: X\n", "clusters/a/flux-system/sync.yaml": "kind: X\n"})
	w.change("one")
	w.rest()
	w.review("anna")
	w.publish()
	w.want(w.rest(), "dev", decide.Awaiting, w.Head(fleettest.ControlPlane, "main"))
	w.Push(fleettest.GitOps, "dev", map[string]string{"large/flux-system/sync.yaml": "kind: X\n"})
	w.want(w.rest(), "dev", decide.Rejected, w.Head(fleettest.ControlPlane, "main"))
	w.Push(fleettest.ControlPlane, "dev", map[string]string{"gitops-repo.yaml": strings.ReplaceAll(gitOpsRepoFile, "NAME", "dev") + "  unmanaged: [\"*/flux-system/\"]\n"})
	w.want(w.rest(), "dev", decide.Awaiting, w.Head(fleettest.ControlPlane, "main"))
}

// TestAnAbortedCommitIsNotOffered aborts a commit whose manifests wait to be merged. Its pull request ends, and a request brings it back.
func TestAnAbortedCommitIsNotOffered(t *testing.T) {
	t.Parallel()
	w := newReviewWorld(t)
	w.approved()
	former := standing(w.rest(), "dev").Commit
	w.change("breaks")
	w.rest()
	wrong := w.offered()
	control := &promote.Control{Ledger: w.ledger, Now: func() time.Time { return w.now }, Branches: repository.NewDeliveryReader(w.flows.Client)}
	command := promote.Command{
		Subject: w.URL + "/" + fleettest.ControlPlane, Environment: "dev", Commit: w.Head(fleettest.ControlPlane, "main"), By: "anna", Why: "it breaks",
	}
	if err := control.Abort(w.Context(), command); err != nil {
		t.Fatal(err)
	}
	if s := standing(w.rest(), "dev"); s.Commit != former || s.Phase != decide.Good {
		t.Errorf("after the abort: %s, %s", s.Commit, s.Reason)
	}
	ended, err := w.Repo(fleettest.GitOps).PullRequest(w.Context(), wrong.Number)
	if err != nil || ended.State != forge.Closed {
		t.Errorf("the pull request is %s, %v", ended.State, err)
	}
	w.now = w.now.Add(time.Second)
	if err := control.Order(w.Context(), command); err != nil {
		t.Fatal(err)
	}
	if s := standing(w.rest(), "dev"); s.Commit != command.Commit || w.offered().Title != wrong.Title {
		t.Errorf("after the request: %s, %s", s.Commit, s.Reason)
	}
}
