package simulate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

func TestAddRefusesInvalidClusters(t *testing.T) {
	t.Parallel()
	s := New(Config{Sources: &Sources{}})
	role := Membership{Environment: "dev", ClusterType: "large", GitOps: hub.Repository{Repo: "gitops"}}
	for want, c := range map[string]Cluster{
		"name":           {Name: "../x", Memberships: []Membership{role}},
		"no membership":  {Name: "x"},
		"reconciler":     {Name: "x", Memberships: []Membership{role}, Reconciler: "ansible"},
		"duplicate":      {Name: "x", Memberships: []Membership{role, role}},
		"names no GitOp": {Name: "x", Memberships: []Membership{{Environment: "dev", ClusterType: "large"}}},
		"membership":     {Name: "x", Memberships: []Membership{{Environment: "dev/..", ClusterType: "large", GitOps: role.GitOps}}},
	} {
		if err := s.Add(c, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want something about %q", c, err, want)
		}
	}
	good := Cluster{Name: "x", Memberships: []Membership{role}}
	if err := s.Add(good, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(good, nil); err == nil {
		t.Error("a second cluster of one name: got no error")
	}
	if err := errors.Join(s.Remove("x"), s.Add(good, nil)); err != nil {
		t.Errorf("a cluster that was removed can come back: %v", err)
	}
}

func TestReportsAreSentWhenTheServerIsBack(t *testing.T) {
	t.Parallel()
	w := newShop(t, Config{})
	w.pushedAndReady()
	w.server.down = true
	second := w.more("second")
	w.pass(3 * time.Minute)
	o, err := w.Cluster("large-01")
	w.must(err)
	if o.Waiting == 0 || !strings.Contains(o.Problem, "refused") {
		t.Errorf("got %d waiting because of %q", o.Waiting, o.Problem)
	}
	w.server.down = false
	w.pass(time.Minute)
	w.wantSaid("large-01", platform, "ready "+second[:7])
	if o, _ := w.Cluster("large-01"); o.Waiting != 0 || o.Problem != "" {
		t.Errorf("afterwards: got %d waiting because of %q", o.Waiting, o.Problem)
	}
}

func TestServerCanAskForEverythingAgain(t *testing.T) {
	t.Parallel()
	w := newShop(t, Config{Heartbeat: 10 * time.Second})
	w.pushedAndReady()
	w.server.latest, w.server.resend = nil, true
	w.pass(11 * time.Second)
	w.wantSaid("large-01", platform, "ready")
	w.wantSaid("large-01", application, "ready")
}

func TestHeartbeats(t *testing.T) {
	t.Parallel()
	w := newShop(t, Config{})
	w.pushedAndReady()
	before := len(w.server.batches)
	w.pass(10 * time.Minute)
	for _, b := range w.server.batches[before:] {
		if len(b.Reports) > 0 {
			t.Errorf("nothing has changed: got %+v", b.Reports)
		}
	}
	if n := len(w.server.batches) - before; n != 10 {
		t.Errorf("got %d heartbeats in ten minutes, want 10", n)
	}
}

func TestRefreshDoesNotWaitForThePoll(t *testing.T) {
	t.Parallel()
	w := newShop(t, Config{Poll: time.Hour})
	w.pass(time.Second)
	second := w.more("second")
	w.pass(time.Second)
	if got := w.reported("large-01", platform); strings.Contains(got, second[:7]) {
		t.Fatalf("got %q before anybody looked", got)
	}
	w.Refresh()
	w.pass(time.Second)
	w.wantSaid("large-01", platform, "ready "+second[:7])
}

// TestSameSeedSameReports: two runs at the same times say the same, at the same times.
func TestSameSeedSameReports(t *testing.T) {
	t.Parallel()
	run := func(seed uint64) []hub.ReportBatch {
		w := newShop(t, Config{Seed: seed, Delay: Delay{Most: 10 * time.Second}})
		for i := range 5 {
			w.add(fmt.Sprintf("large-1%d", i), Flux, "dev/large")
		}
		w.pass(30 * time.Second)
		w.more("second")
		w.pass(30 * time.Second)
		return w.server.batches
	}
	one := run(7)
	if diff := cmp.Diff(one, run(7)); diff != "" {
		t.Errorf("the same seed (-first +second):\n%s", diff)
	}
	if cmp.Equal(one, run(8)) {
		t.Error("another seed gives the same")
	}
}

// TestStepReturnsTheTimeOfTheNextOne: who steps only when there is something to do misses nothing.
func TestStepReturnsTheTimeOfTheNextOne(t *testing.T) {
	t.Parallel()
	w := newShop(t, Config{Delay: Delay{Least: time.Second, Most: 10 * time.Second}})
	steps := 0
	for end := w.now.Add(time.Minute); w.now.Before(end); steps++ {
		next := w.Step(w.Context(), w.now)
		if !next.After(w.now) {
			t.Fatalf("step at %v: next is %v", w.now, next)
		}
		w.now = next
	}
	w.wantSaid("large-01", application, "ready")
	if steps > 40 {
		t.Errorf("got %d steps in a minute, want those of 12 polls and of what was under way", steps)
	}
}

func TestRunStepsByTheClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newShop(t, Config{Delay: Delay{Least: time.Second, Most: 10 * time.Second}})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { w.Run(ctx); close(done) }()
		time.Sleep(time.Minute)
		w.wantSaid("large-01", application, "ready")
		w.must(w.Set("large-01", Behaviour{Mode: Failing}))
		time.Sleep(20 * time.Second)
		w.wantSaid("large-01", application, "failed")
		stop()
		<-done
	})
}

// TestConverges: whatever happens, once it stops every cluster comes to be at the head, and says so.
func TestConverges(t *testing.T) {
	t.Parallel()
	shop := newShop(t, Config{})
	rapid.Check(t, func(r *rapid.T) {
		w := shop.again(Config{Seed: rapid.Uint64().Draw(r, "seed"), Delay: Delay{Most: 20 * time.Second}})
		names := []string{"large-01", "large-02", "large-03"}
		for _, name := range names {
			w.add(name, Flux, "dev/large")
		}
		modes := []Mode{Healthy, Failing, Offline, Slow}
		for i := range rapid.IntRange(1, 8).Draw(r, "events") {
			switch rapid.IntRange(0, 3).Draw(r, "event") {
			case 0:
				w.more(fmt.Sprintf("extra-%d", i))
			case 1:
				w.push("shop", "dev", map[string]string{"test/broken.yaml": "kind: ["})
			case 2:
				w.server.down = rapid.Bool().Draw(r, "down")
			case 3:
				w.must(w.Set(rapid.SampledFrom(names).Draw(r, "cluster"), Behaviour{Mode: rapid.SampledFrom(modes).Draw(r, "mode")}))
			}
			w.pass(time.Duration(rapid.IntRange(0, 60).Draw(r, "seconds")) * time.Second)
		}
		w.server.down = false
		head := w.more("last")
		app := w.push("shop", "dev", map[string]string{"test/deployment.yaml": deploymentOfShop})
		for _, name := range names {
			w.must(w.Set(name, Behaviour{}))
		}
		w.pass(4 * time.Minute)
		for _, name := range names {
			w.wantSaid(name, platform, "ready "+head[:7])
			w.wantSaid(name, application, "ready "+app[:7])
			if got, want := w.objects(name), w.objects(names[0]); got != want {
				t.Errorf("%s has\n%sand %s\n%s", name, got, names[0], want)
			}
		}
		if t.Failed() {
			r.Fatal("it did not converge")
		}
	})
}
