package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

func newestObservationWins(t *testing.T, l ledger.Ledger) {
	takeEach(t, l, report("large-01", 10, 2, ledger.StateReady), report("large-01", 5, 1, ledger.StateFailed))
	want := ledger.ReconcilerState{
		Reconciler: report("large-01", 0, 0, "").Reconciler, Outcome: report("large-01", 10, 2, ledger.StateReady).Outcome,
		Since: at(10), Confirmed: at(10), Received: at(11),
	}
	equal(t, "states", states(t, l, ledger.StateQuery{}), []ledger.ReconcilerState{want})
}

func lessFavourableWins(t *testing.T, l ledger.Ledger) {
	ready, failed := report("large-01", 5, 1, ledger.StateReady), report("large-01", 5, 1, ledger.StateFailed)
	takeEach(t, l, ready, failed, ready)
	other, worse := ready, failed
	other.Reconciler.Cluster, worse.Reconciler.Cluster = "large-02", "large-02"
	takeEach(t, l, worse, other)
	for _, s := range states(t, l, ledger.StateQuery{}) {
		equal(t, s.Reconciler.Cluster, s.State, ledger.StateFailed)
	}
	equal(t, "story", story(t, l, "large-01"), []string{"platform failed 5"})

	// The same holds for the past.
	takeEach(t, l, report("large-01", 9, 2, ledger.StateReady), report("large-01", 2, 1, ledger.StateReady), report("large-01", 2, 1, ledger.StateFailed))
	equal(t, "story", story(t, l, "large-01"), []string{"platform ready 9", "platform failed 2-9"})
}

func repetitionConfirms(t *testing.T, l ledger.Ledger) {
	takeEach(t, l, report("large-01", 1, 1, ledger.StateReady), report("large-01", 8, 1, ledger.StateReady))
	s := states(t, l, ledger.StateQuery{})[0]
	equal(t, "since", minute(s.Since), 1)
	equal(t, "confirmed", minute(s.Confirmed), 8)
	equal(t, "received", minute(s.Received), 9)

	// An older report of the same state moves its beginning.
	take(t, l, report("large-01", 0, 1, ledger.StateReady))
	equal(t, "since", minute(states(t, l, ledger.StateQuery{})[0].Since), 0)
	equal(t, "story", story(t, l, "large-01"), []string{"platform ready 0"})
}

func lateReportSplits(t *testing.T, l ledger.Ledger) {
	takeEach(t, l, report("large-01", 1, 1, ledger.StateReady), report("large-01", 9, 1, ledger.StateReady), report("large-01", 4, 1, ledger.StateFailed))
	s := states(t, l, ledger.StateQuery{})[0]
	equal(t, "state", s.State, ledger.StateReady)
	equal(t, "since", minute(s.Since), 9)
	equal(t, "story", story(t, l, "large-01"), []string{"platform ready 9", "platform failed 4-9", "platform ready 1-4"})
}

// history draws the reports of a reconciler, with repetitions, at most the given minutes apart.
func history(t *rapid.T, minutes int) []ledger.Report {
	var reports []ledger.Report
	minute := 0
	for range rapid.IntRange(1, 12).Draw(t, "reports") {
		minute += rapid.IntRange(1, minutes).Draw(t, "minutes")
		commit := rapid.IntRange(1, 2).Draw(t, "commit")
		state := rapid.SampledFrom([]ledger.State{ledger.StateReady, ledger.StateProgressing, ledger.StateFailed}).Draw(t, "state")
		reports = append(reports, report("x", minute, commit, state))
	}
	return reports
}

// shuffled draws an order of reports in which some are repeated, and some arrive together.
func shuffled(t *rapid.T, reports []ledger.Report) [][]ledger.Report {
	all := append(slices.Clone(reports), rapid.SliceOfN(rapid.SampledFrom(reports), 0, 5).Draw(t, "duplicates")...)
	all = rapid.Permutation(all).Draw(t, "arrival")
	var batches [][]ledger.Report
	for len(all) > 0 {
		n := rapid.IntRange(1, len(all)).Draw(t, "batch")
		batches = append(batches, all[:n])
		all = all[n:]
	}
	return batches
}

// pair records the same reports for two clusters: in order for one, in any order for the other.
func pair(l ledger.Ledger, n int, reports []ledger.Report, batches [][]ledger.Report) (ordered, other string, err error) {
	ordered, other = fmt.Sprintf("ordered-%d", n), fmt.Sprintf("other-%d", n)
	for _, r := range reports {
		r.Reconciler.Cluster = ordered
		err = errors.Join(err, l.Report(context.Background(), r))
	}
	for _, batch := range batches {
		batch = slices.Clone(batch)
		for i := range batch {
			batch[i].Reconciler.Cluster = other
		}
		err = errors.Join(err, l.Report(context.Background(), batch...))
	}
	return ordered, other, err
}

// orderDoesNotMatter checks that the reports of an hour lead to the same state and history in every order.
func orderDoesNotMatter(t *testing.T, l ledger.Ledger) {
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		reports := history(rt, 5)
		ordered, other, err := pair(l, n, reports, shuffled(rt, reports))
		if err != nil {
			rt.Fatal(err)
		}
		if got, want := story(t, l, other), story(t, l, ordered); !slices.Equal(got, want) {
			rt.Fatalf("story: got %q, want %q", got, want)
		}
		compareStates(rt, l, ordered, other, true)
		asOf := at(rapid.IntRange(0, 60).Draw(rt, "asOf"))
		compareAsOf(rt, l, ordered, other, ledger.StateQuery{AsOf: asOf})
	})
}

// anyOrderSameState checks that reports lead to the same state in every order, however late they are.
func anyOrderSameState(t *testing.T, l ledger.Ledger) {
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		reports := history(rt, 90)
		ordered, other, err := pair(l, n, reports, shuffled(rt, reports))
		if err != nil {
			rt.Fatal(err)
		}
		compareStates(rt, l, ordered, other, false)
	})
	counted(t, l)
}

// counted checks that the numbers of reconcilers by version equal those that have, or had, the version.
func counted(t *testing.T, l ledger.Ledger) {
	t.Helper()
	version := shopVersion("1.0", 0)
	version.Path = "large"
	must(t, l.RecordCommit(t.Context(), ledger.Commit{
		Repository: platform, Branch: "prod", SHA: sha(1), Kind: ledger.BranchApplication, Environment: "prod",
		Recorded: at(0), Versions: []ledger.Version{version},
	}))
	for _, asOf := range []time.Time{{}, at(1), at(20), at(45), at(60), at(75), at(200)} {
		got, want := map[ledger.State]int{}, map[ledger.State]int{}
		all, err := l.Versions(t.Context(), ledger.VersionQuery{AsOf: asOf})
		must(t, err)
		for _, v := range all {
			got[v.State] += v.Reconcilers
		}
		for _, s := range states(t, l, ledger.StateQuery{AsOf: asOf}) {
			if s.Revision == sha(1) {
				want[s.State]++
			}
		}
		equal(t, "counted as of "+asOf.String(), got, want)
	}
}

func compareStates(t *rapid.T, l ledger.Ledger, ordered, other string, since bool) {
	want, got := stateOf(t, l, ledger.StateQuery{Cluster: ordered}), stateOf(t, l, ledger.StateQuery{Cluster: other})
	if !since {
		want.Since, got.Since = at(0), at(0)
	}
	if !cmp.Equal(got, want) {
		t.Fatalf("state: got %+v, want %+v", got, want)
	}
}

func compareAsOf(t *rapid.T, l ledger.Ledger, ordered, other string, q ledger.StateQuery) {
	q.Cluster = ordered
	want := stateOf(t, l, q)
	q.Cluster = other
	if got := stateOf(t, l, q); !cmp.Equal(got, want) {
		t.Fatalf("as of %s: got %+v, want %+v", q.AsOf, got, want)
	}
}

// stateOf returns the state of a cluster's only reconciler, without its name; zero if there is none.
func stateOf(t *rapid.T, l ledger.Ledger, q ledger.StateQuery) ledger.ReconcilerState {
	page, err := l.States(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	if len(page.States) == 0 {
		return ledger.ReconcilerState{}
	}
	s := page.States[0]
	s.Reconciler.Cluster = ""
	return s
}

// healthIsKept checks that what is applied and its health are part of an outcome, now and in the past.
func healthIsKept(t *testing.T, l ledger.Ledger) {
	healthy, degraded := report("large-01", 1, 1, ledger.StateReady), report("large-01", 5, 2, ledger.StateFailed)
	healthy.Health, healthy.Applied = hub.HealthHealthy, sha(1)
	degraded.Health, degraded.Applied = hub.HealthDegraded, sha(2)
	degraded.Unhealthy = []hub.ObjectHealth{
		{Kind: "Deployment", Namespace: "shop", Name: "web", Health: hub.HealthDegraded, Message: "exceeded its progress deadline"},
		{Kind: "Namespace", Name: "shop", Health: hub.HealthProgressing},
	}
	worse := degraded
	worse.Observed, worse.Unhealthy = at(7), degraded.Unhealthy[:1]
	takeEach(t, l, healthy, degraded, worse)
	equal(t, "now", states(t, l, ledger.StateQuery{})[0].Outcome, worse.Outcome)
	equal(t, "since", minute(states(t, l, ledger.StateQuery{})[0].Since), 7)
	equal(t, "as of 6", states(t, l, ledger.StateQuery{AsOf: at(6)})[0].Outcome, degraded.Outcome)
	equal(t, "as of 2", states(t, l, ledger.StateQuery{AsOf: at(2)})[0].Outcome, healthy.Outcome)
	equal(t, "story", story(t, l, "large-01"), []string{"platform failed 7", "platform failed 5-7", "platform ready 1-5"})

	unknown := report("large-02", 1, 1, ledger.StateReady)
	unknown.Health = hub.HealthUnknown
	take(t, l, unknown)
	equal(t, "unknown", states(t, l, ledger.StateQuery{Cluster: "large-02"})[0].Health, hub.Health(""))
}

func duplicates(t *testing.T, l ledger.Ledger) {
	r := report("large-01", 1, 1, ledger.StateReady)
	many := slices.Repeat([]ledger.Report{r}, 1000)
	for range 10 {
		take(t, l, many...)
	}
	equal(t, "story", story(t, l, "large-01"), []string{"platform ready 1"})
	lines := 0
	must(t, l.Entries(t.Context(), func(e ledger.Entry) error {
		if e.Report != nil {
			lines++
		}
		return nil
	}))
	equal(t, "facts", lines, 1)
}

func concurrentReports(t *testing.T, l ledger.Ledger) {
	const clusters, rounds = 8, 10
	var wait sync.WaitGroup
	errs := make(chan error, clusters*rounds)
	for c := range clusters {
		wait.Go(func() {
			for n := range rounds {
				// All of them also report about a shared cluster, each about its own reconciler.
				shared := report("shared", n, n, ledger.StateReady)
				shared.Reconciler.Name = fmt.Sprintf("r%d", c)
				errs <- l.Report(t.Context(), report(fmt.Sprintf("c%d", c), n, n, ledger.StateReady), shared)
			}
		})
	}
	wait.Wait()
	close(errs)
	for err := range errs {
		must(t, err)
	}
	all := states(t, l, ledger.StateQuery{})
	equal(t, "reconcilers", len(all), 2*clusters)
	for _, s := range all {
		equal(t, s.Reconciler.String(), s.Revision, sha(rounds-1))
	}
}

func invalidReports(t *testing.T, l ledger.Ledger) {
	good := report("large-01", 1, 1, ledger.StateReady)
	for name, spoil := range map[string]func(*ledger.Report){
		"no cluster":     func(r *ledger.Report) { r.Reconciler.Cluster = "" },
		"no state":       func(r *ledger.Report) { r.State = "great" },
		"no time":        func(r *ledger.Report) { r.Observed = r.Observed.AddDate(-3000, 0, 0) },
		"unknown health": func(r *ledger.Report) { r.Health = "fine" },
		"zero byte":      func(r *ledger.Report) { r.Message = "a\x00b" },
		"invalid UTF-8":  func(r *ledger.Report) { r.Reconciler.Name = "\xff" },
	} {
		bad := good
		spoil(&bad)
		if err := l.Report(t.Context(), good, bad); !errors.Is(err, ledger.ErrInvalid) {
			t.Errorf("%s: got %v, want invalid", name, err)
		}
	}
	equal(t, "states", states(t, l, ledger.StateQuery{}), []ledger.ReconcilerState(nil))

	ended, end := context.WithCancel(t.Context())
	end()
	if err := l.Report(ended, good); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want canceled", err)
	}
}
