package agent

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func report(name, revision string, state hub.State) hub.Report {
	return hub.Report{
		Kind: "Kustomization", Namespace: "flux-system", Name: name,
		Repository: "https://example.com/gitops", Ref: "dev", Revision: revision, State: state,
	}
}

func snapshot(reports ...hub.Report) Snapshot {
	return Snapshot{Reports: reports, Complete: true, Alive: true}
}

func describe(reports []hub.Report) string {
	var all []string
	for _, r := range reports {
		all = append(all, fmt.Sprintf("%s %s@%s %s", r.Name, r.State, r.Revision, r.Observed.Format("15:04:05.999999")))
	}
	return strings.Join(all, ", ")
}

func wantNext(t *testing.T, q *Queue, want string) {
	t.Helper()
	if got := describe(q.Next(math.MaxInt)); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestQueueHoldsNews(t *testing.T) {
	t.Parallel()
	q := &Queue{}
	if !q.Observe(snapshot(report("a", "1", "ready"), report("b", "1", "ready")), noon) {
		t.Error("the first snapshot is no news")
	}
	wantNext(t, q, "a ready@1 12:00:00, b ready@1 12:00:00")
	q.sent(q.Next(10))
	wantNext(t, q, "")
	if q.Observe(snapshot(report("a", "1", "ready"), report("b", "1", "ready")), noon.Add(time.Minute)) {
		t.Error("the same again is news")
	}

	q.Observe(snapshot(report("a", "2", "progressing"), report("b", "1", "ready")), noon.Add(2*time.Minute))
	onTheWay := q.Next(10)
	q.Observe(snapshot(report("a", "2", "failed"), report("b", "1", "ready")), noon.Add(3*time.Minute))
	wantNext(t, q, "a progressing@2 12:02:00, a failed@2 12:03:00")
	q.sent(onTheWay)
	wantNext(t, q, "a failed@2 12:03:00")
	q.sent(q.Next(10))
	q.Accepted(&hub.ReportBatch{}, hub.ReportReceipt{Resend: true})
	wantNext(t, q, "b ready@1 12:00:00, a failed@2 12:03:00")
}

func TestQueueIgnoresIncompleteSnapshots(t *testing.T) {
	t.Parallel()
	q := &Queue{}
	q.Observe(snapshot(report("a", "1", "ready")), noon)
	q.Observe(Snapshot{Alive: true}, noon)
	wantNext(t, q, "a ready@1 12:00:00")
}

func TestQueueReportsWhatIsGone(t *testing.T) {
	t.Parallel()
	q := &Queue{}
	q.Observe(snapshot(report("a", "1", "ready")), noon)
	q.sent(q.Next(10))
	q.Observe(Snapshot{Complete: true, Unread: []string{"Kustomization"}}, noon.Add(time.Minute))
	wantNext(t, q, "")
	q.Observe(snapshot(), noon.Add(2*time.Minute))
	gone := q.Next(10)
	want := []hub.Report{{
		Kind: "Kustomization", Namespace: "flux-system", Name: "a",
		State: hub.StateSuspended, Message: "no longer in the cluster", Observed: noon.Add(2 * time.Minute),
	}}
	if diff := cmp.Diff(want, gone); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if q.Observe(snapshot(), noon.Add(3*time.Minute)) {
		t.Error("still gone is news")
	}
	q.sent(gone)
	if len(q.latest) != 0 {
		t.Errorf("it remembers %d reconcilers that are gone", len(q.latest))
	}
}

// A clock that is set back does not make later observations older than earlier ones.
// Whoever loses the queue does not know what the server was told: the list of all that there is makes up for it.
func TestQueueIntroducesItself(t *testing.T) {
	t.Parallel()
	q := &Queue{}
	s := snapshot(report("a", "1", "ready"))
	s.Unread = []string{"HelmRelease"}
	want := &hub.Present{Reconcilers: []hub.ReconcilerRef{{Kind: "Kustomization", Namespace: "flux-system", Name: "a"}}, Unread: s.Unread}
	if diff := cmp.Diff(want, q.Present(s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p := q.Present(Snapshot{Reports: s.Reports, Complete: true}); p != nil {
		t.Errorf("a cluster that does not answer: got %+v", p)
	}
	q.Accepted(&hub.ReportBatch{Present: &hub.Present{}}, hub.ReportReceipt{})
	if p := q.Present(s); p != nil {
		t.Errorf("introduced: got %+v", p)
	}
	q.Accepted(&hub.ReportBatch{}, hub.ReportReceipt{Resend: true})
	if q.Present(s) == nil {
		t.Error("asked to send everything again: got no list")
	}
}

func TestQueueWithAClockThatIsSetBack(t *testing.T) {
	t.Parallel()
	q := &Queue{}
	q.Observe(snapshot(report("a", "1", "ready")), noon)
	q.Observe(snapshot(report("a", "2", "ready")), noon.Add(-time.Hour))
	wantNext(t, q, "a ready@1 12:00:00, a ready@2 12:00:00.000001")
}

func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	q := &Queue{}
	for i := range maxSuperseded + 11 {
		q.Observe(snapshot(report("a", fmt.Sprint(i), "ready"), report("b", "1", "ready")), noon.Add(time.Duration(i)*time.Second))
	}
	if q.dropped != 10 || q.Waiting() != maxSuperseded+2 {
		t.Errorf("dropped %d, waiting %d, want 10 and %d", q.dropped, q.Waiting(), maxSuperseded+2)
	}
	if first := q.Next(2); first[0].Name != "b" || first[1].Revision != "10" {
		t.Errorf("got %s, want the oldest of a dropped, and the latest of b kept", describe(first))
	}
}

func TestSettle(t *testing.T) {
	t.Parallel()
	at := func(revision string, state hub.State, message string) hub.Report {
		r := report("a", revision, state)
		r.Message = message
		return r
	}
	with := func(state hub.State, health hub.Health) hub.Report {
		r := at("1", state, "")
		r.Applied, r.Health = "1", health
		if health != hub.HealthHealthy {
			r.Unhealthy = []hub.ObjectHealth{{Kind: "Deployment", Name: "web", Health: health}}
		}
		return r
	}
	healthy, slow, degraded := with("ready", hub.HealthHealthy), with("progressing", hub.HealthProgressing), with("failed", hub.HealthDegraded)
	for _, test := range []struct {
		name       string
		last, next hub.Report
		news       bool
	}{
		{"the same again", at("1", "ready", ""), at("1", "ready", ""), false},
		{"checked again", at("1", "ready", ""), at("1", "progressing", ""), false},
		{"tried again", at("1", "failed", "no"), at("1", "progressing", ""), false},
		{"next revision", at("1", "ready", ""), at("2", "progressing", ""), true},
		{"waits for another", at("1", "ready", ""), at("1", "progressing", "dependency"), true},
		{"fails now", at("1", "ready", ""), at("1", "failed", "no"), true},
		{"fails otherwise", at("1", "failed", "no"), at("1", "failed", "never"), true},
		{"took longer to fail", at("1", "failed", "timeout after 30.1s"), at("1", "failed", "timeout after 30.27s"), false},
		{"checks again what was not healthy in time", slow, at("1", "progressing", ""), false},
		{"is degraded now", slow, degraded, true},
		{"is healthy now", slow, healthy, true},
		{"turns degraded", healthy, degraded, true},
		{"suspended", at("1", "progressing", ""), at("1", "suspended", ""), true},
		{"came through", at("1", "failed", "no"), at("1", "ready", ""), true},
	} {
		want := test.last
		if test.news {
			want = test.next
		}
		if got := settle(test.last, test.next); !cmp.Equal(got, want) {
			t.Errorf("%s: got %+v, want %+v", test.name, got, want)
		}
	}
	elsewhere := at("1", "progressing", "")
	elsewhere.Path = "other"
	if !cmp.Equal(settle(at("1", "ready", ""), elsewhere), elsewhere) {
		t.Error("another folder: got nothing new")
	}
}

// Whatever happens, and however often batches get lost, the server ends up with the last of every reconciler,
// in the order of its times.
func TestQueueDelivers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := &Queue{}
		server := map[reconciler]hub.Report{}
		cluster := map[string]hub.Report{}
		deliver := func(reports []hub.Report) {
			for _, r := range reports {
				if old, ok := server[idOf(&r)]; ok && r.Observed.Before(old.Observed) {
					continue
				}
				server[idOf(&r)] = r
			}
		}
		now := noon
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(-5, 20).Draw(t, "seconds")) * time.Second)
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0, 1:
				states := []hub.State{hub.StateReady, hub.StateFailed, hub.StateSuspended}
				cluster[name] = report(name, rapid.SampledFrom([]string{"1", "2"}).Draw(t, "revision"), rapid.SampledFrom(states).Draw(t, "state"))
			case 2:
				delete(cluster, name)
			case 3:
				batch := q.Next(rapid.IntRange(1, 3).Draw(t, "limit"))
				deliver(batch)
				if rapid.Bool().Draw(t, "answered") {
					q.sent(batch)
				}
			case 4:
				q.Accepted(&hub.ReportBatch{}, hub.ReportReceipt{Resend: true})
			}
			var reports []hub.Report
			for _, r := range cluster {
				reports = append(reports, r)
			}
			q.Observe(snapshot(reports...), now)
		}
		for q.Waiting() > 0 {
			batch := q.Next(2)
			deliver(batch)
			q.sent(batch)
		}
		for id, got := range server {
			want, ok := cluster[id.name]
			if !ok {
				want = removed(got)
			}
			if !got.SameOutcome(&want) {
				t.Fatalf("%s: the server has %+v, want %+v", id.name, got, want)
			}
		}
		if len(server) < len(cluster) {
			t.Fatalf("the server has %d reconcilers, want %d", len(server), len(cluster))
		}
	})
}
