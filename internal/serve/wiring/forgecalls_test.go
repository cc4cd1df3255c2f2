package wiring

import (
	"testing"

	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// TestARoundWithNothingToDoAsksTheForgeTwice counts API requests, without those of Git.
func TestARoundWithNothingToDoAsksTheForgeTwice(t *testing.T) {
	t.Parallel()
	w, gitea := newGiteaWorld(t)
	w.Push(fleettest.GitOps, "dev", map[string]string{"README.md": "started\n"})
	wantRequests := func(when string) {
		t.Helper()
		gitea.Faults.Clear()
		if o := w.round("dev"); len(o.Did) > 0 {
			t.Errorf("%s: it did %v", when, o.Did)
		}
		if requests := gitea.Faults.Requests(""); len(requests) > 2 {
			t.Errorf("%s: %d requests: %v", when, len(requests), requests)
		}
	}
	w.Push(fleettest.ControlPlane, "dev", map[string]string{"broken.yaml": "apiVersion: v1\nkind: ["})
	w.round("dev")
	wantRequests("a change and an issue are open")
	w.Push(fleettest.GitOps, "dev", w.Files(fleettest.GitOps, "kalypso/dev"))
	w.round("dev")
	wantRequests("everything is published")
}
