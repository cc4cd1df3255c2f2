package agent

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// hubOf simulates an agent that reports for other clusters as well. took returns the clusters of the batches since the last call, each
// with its reports.
func hubOf(t *testing.T, store Store, refuse string, test func(w *world, took func() string), others ...string) {
	t.Helper()
	simulate(t, store, func(w *world) {
		w.stop() // it was started for one cluster
		w.agent.Others = others
		var batches []string
		w.answer = func(b hub.ReportBatch) (hub.ReportReceipt, error) {
			if b.Cluster == refuse {
				return hub.ReportReceipt{}, rejection{}
			}
			var names []string
			for _, r := range b.Reports {
				names = append(names, r.Name+" "+string(r.State))
			}
			batches = append(batches, b.Cluster+" ["+strings.Join(names, ", ")+"]")
			return hub.ReportReceipt{}, nil
		}
		w.start()
		test(w, func() string {
			w.mu.Lock()
			defer w.mu.Unlock()
			slices.Sort(batches) // the clusters do not wait for each other
			defer func() { batches = nil }()
			return strings.Join(batches, "; ")
		})
	})
}

func withOthers(s Snapshot, others map[string][]hub.Report) Snapshot {
	s.Others = others
	return s
}

func TestAgentReportsForOthers(t *testing.T) {
	t.Parallel()
	want := func(t *testing.T, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	a, b := report("a", "1", "ready"), report("b", "1", "ready")
	store := Store{Dir: t.TempDir()}
	hubOf(t, store, "", func(w *world, took func() string) {
		w.cluster.set(withOthers(snapshot(a), map[string][]hub.Report{"store": {b}, "idle": nil}))
		w.pass(2 * time.Second)
		want(t, took(), "large-07 [a ready]; store [b ready]")
		w.pass(time.Minute)
		want(t, took(), "idle []; large-07 []; store []")

		// What moves from one cluster to another is gone from the first.
		w.cluster.set(withOthers(snapshot(a, b), map[string][]hub.Report{"store": nil, "idle": nil}))
		w.pass(2 * time.Second)
		want(t, took(), "large-07 [b ready]; store [b suspended]")

		// Nothing is known about the others: they are silent, and nothing is gone.
		w.cluster.set(snapshot(a, b))
		w.pass(3 * time.Minute)
		want(t, took(), "large-07 []; large-07 []; large-07 []")
	}, "idle", "store")
	for _, file := range []string{"queue.json", "clusters/store/queue.json"} {
		if _, err := ReadHealth(filepath.Join(store.Dir, filepath.Dir(file))); err != nil {
			t.Error(err)
		}
	}
}

// A cluster that is not granted does not hold up the others, and it is said which one that is.
func TestAgentIsRefusedForOneCluster(t *testing.T) {
	t.Parallel()
	hubOf(t, Store{}, "stranger", func(w *world, took func() string) {
		own := snapshot(report("a", "1", "ready"))
		others := map[string][]hub.Report{"store": {report("b", "1", "ready")}, "stranger": {report("c", "1", "ready")}}
		w.cluster.set(withOthers(own, others))
		w.pass(2 * time.Second)
		if got, want := took(), "large-07 [a ready]; store [b ready]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		w.pass(time.Hour)
		if n := strings.Count(w.log.String(), "cluster=stranger"); n != 1 {
			t.Errorf("logged %d times, want once:\n%s", n, w.log)
		}
	}, "store", "stranger")
}

func TestUnassignedIsLoggedOnce(t *testing.T) {
	t.Parallel()
	hubOf(t, Store{}, "", func(w *world, _ func() string) {
		s := withOthers(snapshot(report("a", "1", "ready")), map[string][]hub.Report{"store": nil})
		s.Unassigned = map[string]int{"far": 2, "https://10.1.2.3": 1}
		w.cluster.set(s)
		w.pass(time.Hour)
		if n := strings.Count(w.log.String(), `destinations="far (2), https://10.1.2.3 (1)"`); n != 1 {
			t.Errorf("logged %d times, want once:\n%s", n, w.log)
		}
	}, "store")
}
