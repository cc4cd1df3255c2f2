package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
)

// noon is when everything here begins, by the clock of the server.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return noon.Add(d) }

// openLedger opens an empty ledger, which has to be closed by hand where there is no end of a test to wait for.
func openLedger(tb testing.TB) *sqlite.Ledger {
	tb.Helper()
	l, err := sqlite.Open(context.Background(), filepath.Join(tb.TempDir(), "ledger.db"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	})
	return l
}

func sha(n int) string { return fmt.Sprintf("%040x", n) }

// report is one of a Kustomization that follows the platform branch.
func report(name string, commit int, state hub.State, observed time.Time) hub.Report {
	return hub.Report{
		Kind: "Kustomization", Namespace: "flux-system", Name: name, Repository: "https://git.example.com/platform", Ref: "dev", Path: "large",
		Revision: sha(commit), State: state, Observed: observed,
	}
}

func batch(sent time.Time, reports ...hub.Report) *hub.ReportBatch {
	b := hub.NewReportBatch("", sent, reports)
	return &b
}

// world is a ledger, and what takes reports into it.
type world struct {
	*testing.T
	ledger *sqlite.Ledger
	intake *ingest.Intake
}

func newWorld(t *testing.T) world {
	t.Helper()
	l := openLedger(t)
	return world{t, l, &ingest.Intake{Ledger: l}}
}

// take takes a batch of the cluster large-07, which has to succeed.
func (w world) take(b *hub.ReportBatch, now time.Time) hub.ReportReceipt {
	w.Helper()
	receipt, err := w.intake.Take(w.Context(), "large-07", b, now)
	if err != nil {
		w.Fatal(err)
	}
	return receipt
}

// states are what the reconcilers of large-07 are, in short.
func (w world) states() []string {
	w.Helper()
	page, err := w.ledger.States(w.Context(), ledger.StateQuery{Cluster: "large-07"})
	if err != nil {
		w.Fatal(err)
	}
	var short []string
	for _, s := range page.States {
		revision := strings.TrimLeft(s.Revision, "0")
		short = append(short, strings.TrimSpace(fmt.Sprintf("%s %s %s since %s %s", s.Reconciler.Name, s.State, revision, s.Since.Format("15:04:05"), s.Message)))
	}
	return short
}

func (w world) expect(want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, w.states()); diff != "" {
		w.Errorf("states (-want +got):\n%s", diff)
	}
}

func (w world) heard() time.Time {
	w.Helper()
	all, err := w.ledger.Clusters(w.Context(), ledger.ClusterQuery{Name: "large-07"})
	if err != nil || len(all) != 1 {
		w.Fatalf("got %d clusters, %v", len(all), err)
	}
	return all[0].LastHeard
}

// refused wants a refusal of a kind that says something.
func refused(t *testing.T, err, kind error, text string) {
	t.Helper()
	var r *ingest.Refusal
	if !errors.As(err, &r) || !errors.Is(err, kind) || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want %v with %q", err, kind, text)
	}
}
