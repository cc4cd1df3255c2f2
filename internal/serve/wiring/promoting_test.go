package wiring

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// TestCommitIsPromotedAlongTheChain promotes a commit to dev, stage and, after approval, prod.
func TestCommitIsPromotedAlongTheChain(t *testing.T) {
	t.Parallel()
	w := newPromotionWorld(t, chainOfThree)
	commit := w.commit("one")
	o := w.quiet()
	w.want(o, "dev", decide.Good, commit)
	w.want(o, "stage", decide.Good, commit)
	if s := standing(o, "prod"); s.Commit == commit || s.Candidate != commit || !strings.Contains(s.Reason, "waits for its promotion to be merged") {
		t.Errorf("prod: %+v", s)
	}
	w.approve()
	o = w.quiet()
	w.want(o, "prod", decide.Good, commit)
	for environment := range chainOfThree {
		if base := w.Files(fleettest.ControlPlane, environment)["base-repo.yaml"]; base != strings.ReplaceAll(baseRepoFile, "COMMIT", commit) {
			t.Errorf("the BaseRepo of %s:\n%s", environment, base)
		}
		for _, on := range []string{commit, w.Head(fleettest.ControlPlane, environment)} {
			if got := w.status(on, environment); got != "success Deployed" {
				t.Errorf("%s of %s: %q", on, environment, got)
			}
		}
	}
	first := w.steps("dev")[0]
	want := []string{first, "published" + first[7:], "deployed" + first[7:], "started " + commit[:7], "published " + commit[:7], "deployed " + commit[:7]}
	if diff := cmp.Diff(want, w.steps("dev")); diff != "" {
		t.Errorf("steps in dev (-want +got):\n%s", diff)
	}
	if again := w.quiet(); len(again.Did) > 0 {
		t.Errorf("afterwards it did %v", again.Did)
	}
}

// TestAFailingClusterStopsACommit checks that the status names the cluster, and that the commit is promoted after a repair.
func TestAFailingClusterStopsACommit(t *testing.T) {
	t.Parallel()
	w := newPromotionWorld(t, map[string]string{"dev": "{}", "stage": "{after: [dev]}"})
	w.quiet()
	w.cluster("dev-2").fails = "Deployment shop/cart: image not found"
	commit := w.commit("bad")
	o := w.quiet()
	w.want(o, "dev", decide.Failed, commit)
	if s := standing(o, "stage"); s.Commit == commit || !strings.Contains(s.Reason, "it failed in dev") {
		t.Errorf("stage: %+v", s)
	}
	if got := w.status(commit, "dev"); !strings.HasPrefix(got, "failure ") || !strings.Contains(got, "dev-2") || !strings.Contains(got, "image not found") {
		t.Errorf("status %q", got)
	}
	w.cluster("dev-2").fails = ""
	o = w.quiet()
	w.want(o, "dev", decide.Good, commit)
	w.want(o, "stage", decide.Good, commit)
	if got := w.status(commit, "dev"); got != "success Deployed" {
		t.Errorf("status %q", got)
	}
}

func TestASilentClusterIsNotGreen(t *testing.T) {
	t.Parallel()
	w := newPromotionWorld(t, map[string]string{"dev": "{}"})
	w.quiet()
	w.cluster("dev-1").silent = true
	commit := w.commit("one")
	o := w.quiet()
	w.want(o, "dev", decide.Applying, commit)
	w.now = w.now.Add(time.Hour)
	o = w.quiet()
	if s := standing(o, "dev"); s.Phase != decide.Applying || !strings.Contains(s.Reason, "dev-1 offline since") {
		t.Errorf("dev: %s %s", s.Phase, s.Reason)
	}
	if got := w.status(commit, "dev"); got != "pending Applying 1/2" {
		t.Errorf("status %q", got)
	}
}

// TestEnvironmentWithoutCommitIsPinned checks that the environment keeps its commit, and gets later commits by its rules.
func TestEnvironmentWithoutCommitIsPinned(t *testing.T) {
	t.Parallel()
	for approval, people := range map[string]bool{"automatic": false, "pullRequest": true} {
		t.Run(approval, func(t *testing.T) {
			w := newPromotionWorld(t, map[string]string{"dev": "{}", "stage": "{after: [dev], approval: " + approval + "}"})
			bare := strings.ReplaceAll(baseRepoFile, "  commit: COMMIT # by promotion\n", "")
			w.Push(fleettest.ControlPlane, "stage", map[string]string{"base-repo.yaml": bare})
			head := w.Head(fleettest.ControlPlane, "main")
			w.cluster("dev-1").silent = true // nothing is deployed to dev
			o := w.quiet()
			if people {
				if s := standing(o, "stage"); !strings.Contains(s.Reason, "follows the branch") {
					t.Errorf("stage: %s", s.Reason)
				}
				w.approve()
				w.quiet()
			}
			if got, want := w.Files(fleettest.ControlPlane, "stage")["base-repo.yaml"], bare+"  commit: "+head+"\n"; got != want {
				t.Fatalf("the BaseRepo:\n%s", got)
			}
			w.commit("next")
			o = w.quiet()
			w.want(o, "stage", decide.Good, head)
		})
	}
}

// TestCommandsOfUsers pauses, requests, aborts and closes.
func TestCommandsOfUsers(t *testing.T) {
	t.Parallel()
	w := newPromotionWorld(t, map[string]string{"dev": "{}", "stage": "{after: [dev], approval: pullRequest}"})
	control := &promote.Control{
		Ledger: w.ledger, Now: func() time.Time { return w.now }, Branches: repository.NewDeliveryReader(w.flows.Client),
	}
	word := func(say func(promote.Command) error, environment, commit string) {
		t.Helper()
		w.now = w.now.Add(time.Second)
		if err := say(promote.Command{Subject: w.URL + "/" + fleettest.ControlPlane, Environment: environment, Commit: commit, By: "anna", Why: "an incident"}); err != nil {
			t.Fatal(err)
		}
	}
	pause := func(v promote.Command) error { return control.Pause(t.Context(), v) }
	resume := func(v promote.Command) error { return control.Resume(t.Context(), v) }
	abort := func(v promote.Command) error { return control.Abort(t.Context(), v) }
	order := func(v promote.Command) error { return control.Order(t.Context(), v) }

	old := w.Head(fleettest.ControlPlane, "main")
	w.quiet()
	word(pause, "dev", "")
	one := w.commit("one")
	o := w.quiet()
	if s := standing(o, "dev"); s.Commit != old || s.Pause == nil || !strings.Contains(s.Reason, "paused by anna") {
		t.Errorf("paused: %+v", s)
	}
	word(resume, "dev", "")
	w.want(w.quiet(), "dev", decide.Good, one)

	closed := w.proposed()[0]
	w.close(closed.Number)
	if s := standing(w.quiet(), "stage"); !strings.Contains(s.Reason, "rejected") || len(w.proposed()) > 0 {
		t.Errorf("turned down: %s", s.Reason)
	}
	word(order, "stage", one)
	w.quiet()
	w.approve()
	o = w.quiet()
	w.want(o, "stage", decide.Good, one)
	if s := standing(o, "stage"); s.Request != nil {
		t.Errorf("the order is not fulfilled: %+v", s.Request)
	}

	onHold := w.commit("on hold")
	w.quiet()
	if open := w.proposed(); len(open) != 1 {
		t.Fatalf("%d proposals for stage", len(open))
	}
	word(abort, "stage", onHold)
	w.quiet()
	if open := w.proposed(); len(open) > 0 || !strings.HasSuffix(strings.Join(w.steps("stage"), ", "), "withdrawn "+onHold[:7]) {
		t.Errorf("not withdrawn: %+v, %v", open, w.steps("stage"))
	}

	err := order(promote.Command{Subject: w.URL + "/" + fleettest.ControlPlane, Environment: "dev", Commit: strings.Repeat("f", 40), By: "anna"})
	if !errors.Is(err, ledger.ErrInvalid) {
		t.Errorf("requested an unknown commit: %v", err)
	}
	two := w.commit("two")
	word(abort, "dev", two)
	o = w.quiet()
	if s := standing(o, "dev"); s.Commit != onHold || !strings.Contains(s.Reason, "was aborted by anna") {
		t.Errorf("aborted: %s", s.Reason)
	}
	word(order, "dev", two)
	w.want(w.quiet(), "dev", decide.Good, two)
	word(order, "dev", one) // back to an older commit
	w.want(w.quiet(), "dev", decide.Good, one)
}
