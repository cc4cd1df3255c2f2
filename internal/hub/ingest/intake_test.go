package ingest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

func TestTake(t *testing.T) {
	w := newWorld(t)
	r := report("platform", 1, hub.StateFailed, after(-time.Second))
	r.Repository, r.Ref, r.Path = "https://me:hunter2@Git.Example.com/platform.git", "refs/heads/dev", "./large/"
	r.Revision, r.Message = "dev@sha1:"+sha(1), "clone https://me:hunter2@git.example.com/x: denied \u202edecied"
	if receipt := w.take(batch(noon, r), noon); !receipt.Resend {
		t.Error("first batch: got no wish to resend, want one, since nothing was known")
	}
	page, err := w.ledger.States(t.Context(), ledger.StateQuery{Cluster: "large-07"})
	if err != nil || len(page.States) != 1 {
		t.Fatalf("got %d states, %v", len(page.States), err)
	}
	want := ledger.ReconcilerState{
		Reconciler: ledger.ReconcilerID{Cluster: "large-07", Kind: "Kustomization", Namespace: "flux-system", Name: "platform"},
		Outcome: ledger.Outcome{
			Source:   ledger.Source{Repository: "https://git.example.com/platform", Ref: "dev", Path: "large"},
			Revision: sha(1), State: ledger.StateFailed, Message: "clone https://git.example.com/x: denied decied",
		},
		Since: after(-time.Second), Confirmed: after(-time.Second), Received: noon,
	}
	if diff := cmp.Diff(want, page.States[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if receipt := w.take(batch(after(time.Minute)), after(time.Minute)); receipt.Resend || !w.heard().Equal(after(time.Minute)) {
		t.Errorf("heartbeat: got resend %v and heard %s, want neither to resend nor to be forgotten", receipt.Resend, w.heard())
	}
}

func TestTakeRefuses(t *testing.T) {
	w := newWorld(t)
	other := batch(noon)
	other.Cluster = "small-01"
	_, err := w.intake.Take(t.Context(), "large-07", other, noon)
	refused(t, err, ingest.ErrDenied, `does not report for "small-01"`)
	_, err = w.intake.Take(t.Context(), "large-07", batch(noon, report("", 1, "green", noon)), noon)
	refused(t, err, ingest.ErrInvalid, `state is "green"`)
	_, err = w.intake.Take(t.Context(), "large-07", batch(noon, report("good", 1, hub.StateReady, noon), report("bad\nlevel=error", 1, hub.StateReady, noon)), noon)
	refused(t, err, ingest.ErrInvalid, "reports[1]: name has control characters")
	w.expect() // all or nothing
}

// What the ledger cannot take now is nobody's mistake: nothing is stored, and it may come again.
func TestInterrupted(t *testing.T) {
	w := newWorld(t)
	b := batch(noon, report("platform", 1, hub.StateReady, noon), report("apps", 1, hub.StateReady, noon))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	var r *ingest.Refusal
	if _, err := w.intake.Take(gone, "large-07", b, noon); err == nil || errors.As(err, &r) {
		t.Errorf("got %v, want an error that is no refusal", err)
	}
	w.expect()
	w.take(b, after(time.Second))
	w.expect("platform ready 1 since 12:00:00", "apps ready 1 since 12:00:00")
}

// A restored ledger knows nothing of a cluster that only reports news.
func TestResend(t *testing.T) {
	w := newWorld(t)
	if receipt := w.take(batch(noon), noon); !receipt.Resend {
		t.Error("heartbeat of an unknown cluster: got no wish to resend")
	}
	w.take(batch(after(time.Second), report("platform", 1, hub.StateReady, noon)), after(time.Second))
	if receipt := w.take(batch(after(time.Minute)), after(time.Minute)); receipt.Resend {
		t.Error("heartbeat of a known cluster: got a wish to resend")
	}
}

// An agent that lost its memory cannot say what is gone, but what there is.
func TestWhatIsNotPresentIsGone(t *testing.T) {
	w := newWorld(t)
	w.take(batch(noon, report("platform", 1, hub.StateReady, noon), report("apps", 1, hub.StateFailed, noon)), noon)
	again := batch(after(time.Hour), report("platform", 1, hub.StateReady, after(time.Hour)))
	again.Present = &hub.Present{Reconcilers: []hub.ReconcilerRef{again.Reports[0].Reconciler()}, Unread: []string{"HelmRelease"}}
	w.take(again, after(time.Hour))
	states, err := w.ledger.States(t.Context(), ledger.StateQuery{Cluster: "large-07"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range states.States {
		if gone := s.Source == (ledger.Source{}) && s.State == ledger.StateSuspended; gone != (s.Reconciler.Name == "apps") {
			t.Errorf("%s: got %+v", s.Reconciler.Name, s.Outcome)
		}
	}
	// What came after the list was made is not gone because of it, however late the list arrives.
	w.take(batch(after(2*time.Hour), report("apps", 2, hub.StateReady, after(2*time.Hour))), after(2*time.Hour))
	w.take(again, after(3*time.Hour))
	if s, err := w.ledger.States(t.Context(), ledger.StateQuery{Cluster: "large-07", State: ledger.StateReady}); err != nil || len(s.States) != 2 {
		t.Errorf("got %d ready, %v, want 2", len(s.States), err)
	}
}

func TestParseBatch(t *testing.T) {
	many := `{"reports": [` + strings.Repeat(`{},`, 600) + `{}]}`
	for name, tc := range map[string]struct {
		body string
		kind error
		text string
	}{
		"not JSON":         {"hello", ingest.ErrMalformed, "not JSON: byte 1"},
		"cut off":          {`{"id": "x"`, ingest.ErrMalformed, "not JSON"},
		"another type":     {`{"id": {}}`, ingest.ErrInvalid, "id"},
		"a list":           {`[]`, ingest.ErrInvalid, "the body: want"},
		"reports are text": {`{"reports": "all"}`, ingest.ErrInvalid, "reports is a list"},
		"a report is text": {`{"reports": ["x"]}`, ingest.ErrInvalid, "want"},
		"too many":         {many, ingest.ErrInvalid, "more than 500 reports"},
		"no time":          {`{"sent": "yesterday"}`, ingest.ErrInvalid, "times look like"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ingest.ParseBatch([]byte(tc.body))
			refused(t, err, tc.kind, tc.text)
		})
	}
	got, err := ingest.ParseBatch([]byte(`{"id": "a", "later": {"x": [1]}, "reports": [{"name": "n", "more": true}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&hub.ReportBatch{ID: "a", Reports: []hub.Report{{Name: "n"}}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, err := ingest.ParseBatch([]byte(`{"reports": null}`)); err != nil || got.Reports != nil {
		t.Errorf("null: got %v, %v", got, err)
	}
}
