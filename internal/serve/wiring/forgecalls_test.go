package wiring

import (
	"testing"

	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// TestARoundWithNothingToDoAsksTheForgeTwice counts requests to the API; those of Git do not count.
func TestARoundWithNothingToDoAsksTheForgeTwice(t *testing.T) {
	w, gitea := newGiteaWorld(t)
	w.Push(fleettest.GitOps, "dev", map[string]string{"README.md": "started\n"})
	asked := func(when string) {
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
	asked("a change and an issue are open")
	w.Push(fleettest.GitOps, "dev", w.Files(fleettest.GitOps, "kalypso/dev"))
	w.round("dev")
	asked("everything is published")
}
