package ingest_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// takeObserved takes what a service knows about the cluster large-07, which was asked at a time.
func (w world) takeObserved(now time.Time, reports ...hub.Report) {
	w.Helper()
	if err := w.intake.TakeObserved(w.Context(), "large-07", reports, now); err != nil {
		w.Fatal(err)
	}
}

// observedStates returns the states of the cluster as "name state revision", sorted by name.
func (w world) observedStates() []string {
	w.Helper()
	page, err := w.ledger.States(w.Context(), ledger.StateQuery{Cluster: "large-07"})
	if err != nil {
		w.Fatal(err)
	}
	var all []string
	for _, s := range page.States {
		all = append(all, s.Reconciler.Name+" "+string(s.State)+" "+s.Revision)
	}
	slices.Sort(all)
	return all
}

func (w world) wantStates(want ...string) {
	w.Helper()
	if got := w.observedStates(); !slices.Equal(got, want) {
		w.Errorf("got states %q, want %q", got, want)
	}
}

func TestAServiceReportsWhenTheClusterSaidIt(t *testing.T) {
	w := newWorld(t)
	stored := 0
	w.intake.Stored = func(reports []ledger.Report) { stored += len(reports) }
	w.takeObserved(after(5*time.Minute), report("platform", 1, hub.StateReady, noon))
	w.takeObserved(after(6*time.Minute), report("platform", 1, hub.StateReady, noon))
	if !w.heard().Equal(noon) {
		t.Errorf("heard at %s, want noon: asking again is no sign of life", w.heard())
	}
	w.takeObserved(after(9*time.Minute), report("platform", 2, hub.StateReady, after(8*time.Minute)))
	w.wantStates("platform ready " + sha(2))
	if !w.heard().Equal(after(8*time.Minute)) || stored != 3 {
		t.Errorf("heard at %s with %d reports", w.heard(), stored)
	}
}

func TestAnAgentWins(t *testing.T) {
	w := newWorld(t)
	w.takeObserved(after(time.Minute), report("platform", 1, hub.StateReady, noon))
	w.take(batch(after(2*time.Minute), report("platform", 2, hub.StateReady, after(2*time.Minute-time.Second))), after(2*time.Minute))
	err := w.intake.TakeObserved(t.Context(), "large-07", []hub.Report{report("platform", 3, hub.StateReady, after(4*time.Minute))}, after(5*time.Minute))
	if !errors.Is(err, ingest.ErrOwnAgent) {
		t.Errorf("got %v, want that the agent reports", err)
	}
	w.take(batch(after(10*time.Minute)), after(10*time.Minute)) // a heartbeat
	err = w.intake.TakeObserved(t.Context(), "large-07", []hub.Report{report("platform", 3, hub.StateReady, after(18*time.Minute))}, after(20*time.Minute))
	if !errors.Is(err, ingest.ErrOwnAgent) {
		t.Errorf("got %v, want that the agent reports", err)
	}
	w.wantStates("platform ready " + sha(2))
	w.takeObserved(after(25*time.Minute), report("platform", 3, hub.StateReady, after(24*time.Minute)))
	w.takeObserved(after(26*time.Minute), report("platform", 4, hub.StateReady, after(25*time.Minute)))
	w.wantStates("platform ready " + sha(4))
	w.take(batch(after(27*time.Minute)), after(27*time.Minute)) // it is back
	err = w.intake.TakeObserved(t.Context(), "large-07", []hub.Report{report("platform", 5, hub.StateReady, after(27*time.Minute))}, after(28*time.Minute))
	if !errors.Is(err, ingest.ErrOwnAgent) {
		t.Errorf("got %v, want that the agent reports again", err)
	}
}

func TestOnlyWhatTheServiceKnewIsGone(t *testing.T) {
	w := newWorld(t)
	w.take(batch(noon, report("of-the-agent", 1, hub.StateReady, after(-time.Second))), noon)
	w.takeObserved(after(16*time.Minute), report("one", 1, hub.StateReady, after(15*time.Minute)), report("two", 1, hub.StateReady, after(15*time.Minute)))
	w.takeObserved(after(17*time.Minute), report("one", 1, hub.StateReady, after(17*time.Minute)))
	w.wantStates("of-the-agent ready "+sha(1), "one ready "+sha(1), "two suspended ")
}

func TestAStatusOfTheFutureIsRefused(t *testing.T) {
	w := newWorld(t)
	err := w.intake.TakeObserved(t.Context(), "large-07", []hub.Report{report("platform", 1, hub.StateReady, after(time.Hour))}, noon)
	if !errors.Is(err, ingest.ErrInvalid) {
		t.Errorf("got %v, want a refusal", err)
	}
	w.takeObserved(noon)
	w.wantStates()
}

func TestWhatAServiceSaysIsCleaned(t *testing.T) {
	w := newWorld(t)
	r := report("platform", 1, hub.StateFailed, noon)
	r.Message, r.Repository = "clone https://bot:hunter2@git.example.com/platform\nfailed", "https://bot:hunter2@git.example.com/platform.git"
	w.takeObserved(noon, r)
	page, err := w.ledger.States(t.Context(), ledger.StateQuery{Cluster: "large-07"})
	if err != nil || len(page.States) != 1 {
		t.Fatalf("got %v, %v", page.States, err)
	}
	if s := page.States[0]; s.Message != "clone https://git.example.com/platform failed" || s.Source.Repository != "https://git.example.com/platform" {
		t.Errorf("got %q from %q", s.Message, s.Source.Repository)
	}
}
