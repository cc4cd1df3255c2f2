package wiring

import (
	"context"
	"strings"
	"testing"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// ringedShop is a shop whose environment dev has two rings: canary with cluster dev-1, and others with dev-2 and dev-3.
type ringedShop struct{ *shop }

// Policy implements [deliver.Policies].
func (s ringedShop) Policy(_ context.Context, environment string) (check.Policy, []fleet.Problem, error) {
	return check.Policy{Environment: environment}, nil, nil
}

// Rights implements [deliver.Policies].
func (s ringedShop) Rights(context.Context, string, string) (map[string]check.Rights, error) {
	return nil, nil
}

// Rings implements [deliver.Policies]. The platform has more rings than the application.
func (s ringedShop) Rings(context.Context, string) ([]fleet.Stage, error) {
	return []fleet.Stage{
		{Name: "canary", Ring: "canary", Clusters: []string{"dev-1"}},
		{Name: "early.0", Ring: "early", Clusters: []string{"dev-2"}},
		{Name: "rest", Ring: "rest", Clusters: []string{"dev-3"}},
	}, nil
}

func newRingedShop(t *testing.T) ringedShop {
	t.Helper()
	s := ringedShop{newShop(t)}
	s.Push(shopSource, "main", map[string]string{"delivery.yaml": `apiVersion: app.kalypso.io/v1alpha1
kind: Delivery
metadata:
  name: shop
spec:
  environments:
    - name: dev
      autoMerge: true
      promotion:
        rings:
        - {name: canary, soak: 10m, onFailure: rollback}
        - {name: others}
    - {name: stage, promotion: {after: [dev]}}
`})
	for _, cluster := range []string{"dev-2", "dev-3"} {
		err := s.ledger.Register(t.Context(), ledger.Registration{
			Cluster: cluster, Memberships: []ledger.Membership{{Environment: "dev", ClusterType: "large"}}, At: fleettest.Time,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	s.chain.Deliverer.Policies = s
	return s
}

// pass lets a number of minutes pass, in which the clusters run the branches of their rings. The commit bad degrades on each.
func (s ringedShop) pass(minutes int, bad string) {
	s.Helper()
	rings := map[string]string{"dev-1": "dev-ring-canary", "dev-2": "dev-ring-others", "dev-3": "dev-ring-others"}
	s.silent["dev-1"] = true
	for range minutes {
		for cluster, branch := range rings {
			revision := s.Head(shopGitOps, branch)
			if revision == "" {
				continue
			}
			r := ledger.Report{
				Reconciler: ledger.ReconcilerID{Cluster: cluster, Kind: "Kustomization", Namespace: "shop", Name: "shop"},
				Outcome: ledger.Outcome{
					Source:   ledger.Source{Repository: ledger.CleanRepository(s.URL + "/" + shopGitOps), Ref: branch, Path: "functional-test"},
					Revision: revision, State: ledger.StateReady, Health: hub.HealthHealthy,
				},
				Observed: s.now, Received: s.now,
			}
			if revision == bad {
				r.State, r.Applied, r.Health = ledger.StateFailed, revision, hub.HealthDegraded
			}
			if err := s.ledger.Report(s.Context(), r); err != nil {
				s.Fatal(err)
			}
		}
		if _, err := s.minute(); err != nil {
			s.Fatal(err)
		}
	}
}

// TestAVersionGoesThroughTheRingsOfAnApplication checks that a version soaks in the canary before the others get it, and that one that
// degrades there goes back and reaches no other cluster.
func TestAVersionGoesThroughTheRingsOfAnApplication(t *testing.T) {
	t.Parallel()
	s := newRingedShop(t)
	first := s.built("1.4.0")
	s.pass(30, "")
	if got, want := s.status(shopSource, first, "dev"), "success Deployed 1.4.0"; got != want {
		t.Fatalf("dev shows %q, want %q", got, want)
	}

	s.Push(shopSource, "main", map[string]string{"main.go": "package main // 1.5.0\n"})
	second := s.built("1.5.0")
	s.pass(8, "")
	published := s.Head(shopGitOps, "dev")
	if s.Head(shopGitOps, "dev-ring-canary") != published || s.Head(shopGitOps, "dev-ring-others") == published {
		t.Fatal("the canary does not soak alone")
	}
	if got := s.status(shopSource, second, "dev"); !strings.HasPrefix(got, "pending Applying 1/3") {
		t.Errorf("dev shows %q while the canary soaks", got)
	}
	s.pass(20, "")
	if got, want := s.status(shopSource, second, "dev"), "success Deployed 1.5.0"; got != want || s.Head(shopGitOps, "dev-ring-others") != published {
		t.Errorf("dev shows %q, want %q", got, want)
	}
	if got, want := s.status(shopGitOps, published, "dev/canary"), "success Deployed"; got != want {
		t.Errorf("the canary shows %q, want %q", got, want)
	}

	s.Push(shopSource, "main", map[string]string{"main.go": "package main // 1.6.0\n"})
	third := s.built("1.6.0")
	s.pass(1, "")
	s.pass(15, s.Head(shopGitOps, "dev"))
	if head := s.Head(shopGitOps, "dev-ring-canary"); head != published {
		t.Errorf("the canary is at %s, not back at %s", head, published)
	}
	if s.Head(shopGitOps, "dev-ring-others") != published {
		t.Error("the others got a version that failed in the canary")
	}
	if got := s.status(shopSource, third, "dev"); !strings.HasPrefix(got, "failure Failed: it failed in dev/canary, which went back to") {
		t.Errorf("dev shows %q after the canary failed", got)
	}
	if s.proposed("stage") && strings.Contains(s.open("stage").Title, "1.6.0") {
		t.Error("a version that failed in a ring was proposed to stage")
	}
}
