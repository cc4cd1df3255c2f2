package wiring

import (
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// Anyone who can fork a control plane can name repositories in it. None of them is read unless the operator allows it.
func TestAChangeFromAForkIsNotPlannedByItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	repo := w.Repo(fleettest.ControlPlane)
	if err := repo.(forge.Brancher).CreateBranch(t.Context(), "topic", w.Head(fleettest.ControlPlane, "dev")); err != nil {
		t.Fatal(err)
	}
	w.Push(fleettest.ControlPlane, "topic", map[string]string{"notes.md": "by a stranger\n"})
	change, err := repo.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: "topic", Base: "dev", Title: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	comments := func() int {
		t.Helper()
		all, err := repo.Comments(t.Context(), change.Number)
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	status := func() forge.StatusState {
		t.Helper()
		all, err := repo.Statuses(t.Context(), change.Head.Commit)
		if err != nil || len(all) != 1 || all[0].Context != schedule.StatusPlan {
			t.Fatalf("statuses %+v, %v", all, err)
		}
		return all[0].State
	}
	for _, fork := range []string{"stranger/control-plane", "unknown"} {
		change.Head.Fork = fork
		// Without a loader, it cannot read anything.
		p := &schedule.Previewer{Forges: w.flows.Forges}
		preview, err := p.Preview(t.Context(), w.URL+"/"+fleettest.ControlPlane, change)
		if preview != nil || err != nil || comments() > 0 {
			t.Errorf("from %q: got %+v, %v and %d comments", fork, preview, err, comments())
		}
		if state := status(); state != forge.Errored {
			t.Errorf("from %q: status %q", fork, state)
		}
	}
	for _, allowed := range []bool{false, true} {
		w.flows.previewForks = allowed
		preview, err := w.flows.Preview(t.Context(), w.URL+"/"+fleettest.ControlPlane, change)
		if (preview != nil) != allowed || err != nil || comments() > 0 != allowed {
			t.Errorf("allowed %t: got %+v, %v and %d comments", allowed, preview, err, comments())
		}
	}
	if state := status(); state != forge.Success {
		t.Errorf("allowed: status %q", state)
	}
}
