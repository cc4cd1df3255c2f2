package serve

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// TestControlPlanesHaveMetricsOfTheirOwn has two with an environment of the same name.
func TestControlPlanesHaveMetricsOfTheirOwn(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry)
	m.Stand(controlPlane, []promote.Standing{{Environment: "dev", Phase: decide.Good}})
	m.Stand(controlPlane+"-2", []promote.Standing{{Environment: "dev", Phase: decide.Failed}})
	want := []string{controlPlane, "dev", "good", controlPlane + "-2", "dev", "failed"}
	if got := labels(t, registry, "kalypso_promotion_phase"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	m.removed(controlPlane, "dev")
	if got := labels(t, registry, "kalypso_promotion_phase"); !slices.Equal(got, want[3:]) {
		t.Errorf("got %q, want %q", got, want[3:])
	}
}

// A gate that wants commits to be applied counts a degraded reconciler as reached; that it is degraded shows beside it.
func TestMetricsOfHealth(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry)
	counts := comply.Counts{Expected: 2, Counted: 2, Required: 2, Reached: 2, Degraded: 1}
	m.Stand("cp", []promote.Standing{{Environment: "dev", Phase: decide.Good, Verdict: comply.Verdict{Counts: counts}}})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	at := -1
	for i, f := range families {
		if f.GetName() == "kalypso_reconcilers_degraded" {
			at = i
		}
	}
	if at < 0 || families[at].GetMetric()[0].GetGauge().GetValue() != 1 {
		t.Errorf("got %v, want 1 degraded reconciler", families)
	}
}

// Batches of a ring are summed up, and a ring that is gone has no metrics.
func TestMetricsOfRings(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry)
	ring := func(name, ring, commit string, behind int) promote.RingStanding {
		return promote.RingStanding{
			Name: name, Ring: ring, Commit: commit, Behind: behind, Phase: decide.Good, Counts: comply.Counts{Expected: 2, Counted: 2, Reached: 2},
		}
	}
	m.Stand("cp", []promote.Standing{{Environment: "prod", Rings: []promote.RingStanding{ring("pilot", "pilot", "b", 0)}}})
	m.Stand("cp", []promote.Standing{{Environment: "prod", Rings: []promote.RingStanding{
		ring("canary", "canary", "b", 0), ring("others.0", "others", "b", 0), ring("others.1", "others", "a", 1),
	}}})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "kalypso_ring_") {
			continue
		}
		for _, one := range f.GetMetric() {
			line := strings.TrimPrefix(f.GetName(), "kalypso_ring_")
			for _, l := range one.GetLabel() {
				if l.GetName() != "control_plane" && l.GetName() != "environment" {
					line += " " + l.GetValue()
				}
			}
			if v := one.GetGauge().GetValue(); v > 0 {
				got = append(got, fmt.Sprintf("%s %v", line, v))
			}
		}
	}
	want := []string{
		"batches_left others 1", "phase applying others 1", "phase good canary 1",
		"reconcilers canary reached 2", "reconcilers others behind 2", "reconcilers others reached 2",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMetricsForgetRemovedEnvironments(t *testing.T) {
	f := &fakeFlows{}
	keep(t, f, func(k *Keeper) {
		main := forge.Event{Kind: forge.EventPush, Repository: "platform/control-plane", Branch: "main"}
		k.HandleEvent(main)
		synctest.Wait()
		k.Metrics.Stand(controlPlane, []promote.Standing{{Environment: "stage", Phase: decide.Good}})
		if got := labels(t, f.registry, "kalypso_scheduled_timestamp_seconds"); !slices.Contains(got, "stage") {
			t.Fatalf("metrics of %q", got)
		}
		f.mu.Lock()
		f.without = "stage"
		f.mu.Unlock()
		k.HandleEvent(main)
		synctest.Wait()
		k.Metrics.Stand(controlPlane, k.known(controlPlane, []promote.Standing{{Environment: "stage"}})) // a round that ends late
		for _, metric := range []string{"kalypso_scheduled_timestamp_seconds", "kalypso_promotion_phase"} {
			if got := labels(t, f.registry, metric); slices.Contains(got, "stage") {
				t.Errorf("%s still has %q", metric, got)
			}
		}
	})
}

// TestMetricsOfFailedRounds shows that the time of the last success stays, also of an environment that never had one.
func TestMetricsOfFailedRounds(t *testing.T) {
	f := &fakeFlows{err: errors.New("no")}
	keep(t, f, func(k *Keeper) {
		time.Sleep(lastRetry)
		synctest.Wait()
		if got := labels(t, f.registry, "kalypso_scheduled_timestamp_seconds"); len(got) == 0 {
			t.Fatal("no metric")
		}
		value := func() float64 {
			families, err := f.registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range families {
				if f.GetName() == "kalypso_scheduled_timestamp_seconds" {
					return f.Metric[0].Gauge.GetValue()
				}
			}
			return 0
		}
		failing := value()
		overdue := k.Overdue(lastRetry - time.Second)
		if len(overdue) == 0 || overdue[0].ControlPlane != controlPlane || overdue[0].Environment != "dev" || float64(overdue[0].Since.Unix()) != failing {
			t.Errorf("overdue: %v", overdue)
		}
		time.Sleep(2 * lastRetry)
		synctest.Wait()
		if value() != failing {
			t.Error("a failed round counts as one that succeeded")
		}
		f.fail(nil)
		time.Sleep(2 * lastRetry)
		synctest.Wait()
		if value() <= failing {
			t.Error("a round that succeeded does not count")
		}
		if overdue := k.Overdue(2 * lastRetry); len(overdue) > 0 {
			t.Errorf("overdue after a success: %v", overdue)
		}
	})
}
