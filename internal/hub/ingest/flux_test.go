package ingest_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

func event(reason string, commit int, at time.Time) *ingest.FluxEvent {
	e := &ingest.FluxEvent{Severity: "info", Reason: reason, Timestamp: at, Metadata: map[string]string{"revision": "dev@sha1:" + sha(commit)}}
	e.InvolvedObject.APIVersion, e.InvolvedObject.Kind = "kustomize.toolkit.fluxcd.io/v1", "Kustomization"
	e.InvolvedObject.Namespace, e.InvolvedObject.Name = "flux-system", "platform"
	return e
}

// Events do not say what is followed: once somebody did, they count for it.
func TestFluxSource(t *testing.T) {
	w := newWorld(t)
	source := func() ledger.Source {
		page, err := w.ledger.States(t.Context(), ledger.StateQuery{Cluster: "large-07"})
		if err != nil || len(page.States) != 1 {
			t.Fatalf("got %d states, %v", len(page.States), err)
		}
		return page.States[0].Source
	}
	take := func(e *ingest.FluxEvent) {
		if err := w.intake.TakeFlux(t.Context(), "large-07", e, noon); err != nil {
			t.Fatal(err)
		}
	}
	take(event("Progressing", 1, noon))
	if got := source(); got != (ledger.Source{}) {
		t.Errorf("got %v, want no source", got)
	}
	w.take(batch(after(time.Second), report("platform", 1, hub.StateReady, after(time.Second))), after(time.Second))
	take(event("ReconciliationSucceeded", 2, after(time.Minute)))
	want := ledger.Source{Repository: "https://git.example.com/platform", Ref: "dev", Path: "large"}
	if got := source(); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	w.expect("platform ready 2 since 12:01:00")
}

// Events have whole seconds, and may come in any order.
func TestFluxSameSecond(t *testing.T) {
	for _, order := range [][]string{{"Progressing", "ReconciliationSucceeded"}, {"ReconciliationSucceeded", "Progressing"}} {
		w := newWorld(t)
		for _, reason := range order {
			if err := w.intake.TakeFlux(t.Context(), "large-07", event(reason, 1, noon), after(time.Second)); err != nil {
				t.Fatal(err)
			}
		}
		w.expect("platform ready 1 since 12:00:00")
	}
}

// Events are corrected like everything else that a cluster says.
func TestFluxClock(t *testing.T) {
	w := newWorld(t)
	take := func(e *ingest.FluxEvent, now time.Time) {
		if err := w.intake.TakeFlux(t.Context(), "large-07", e, now); err != nil {
			t.Fatal(err)
		}
	}
	take(event("ReconciliationSucceeded", 1, after(time.Hour)), noon)
	w.expect("platform ready 1 since 12:00:00")
	take(event("ReconciliationSucceeded", 2, after(65*time.Minute)), after(5*time.Minute+time.Second))
	w.expect("platform ready 2 since 12:05:00")
	// Of the years after 2100 there is nothing to be learnt.
	refused(t, w.intake.TakeFlux(t.Context(), "large-07", event("Progressing", 3, after(1<<62)), noon), ingest.ErrInvalid, "set the clock")
}

func TestFluxSigned(t *testing.T) {
	server, body := secret.New("correct horse battery staple"), []byte(`{"reason": "x"}`)
	keyOf := func(server secret.Value, cluster, credential string) secret.Value {
		return ingest.FluxKey(server, ledger.Registration{Cluster: cluster, CredentialHash: credential})
	}
	key := keyOf(server, "large-07", "c1")
	mac := hmac.New(sha256.New, []byte(key.Reveal()))
	mac.Write(body)
	signature := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	if !ingest.FluxSigned(signature, body, key) {
		t.Error("the cluster's own signature is refused")
	}
	for name, ok := range map[string]bool{
		"another cluster's key": ingest.FluxSigned(signature, body, keyOf(server, "large-08", "c1")),
		"another server's key":  ingest.FluxSigned(signature, body, keyOf(secret.New("other"), "large-07", "c1")),
		"another body":          ingest.FluxSigned(signature, []byte(`{"reason": "y"}`), key),
		"another credential":    ingest.FluxSigned(signature, body, keyOf(server, "large-07", "c2")),
		"no credential":         ingest.FluxSigned(signature, body, keyOf(server, "large-07", "")),
		"no key":                ingest.FluxSigned(signature, body, keyOf(secret.Value{}, "large-07", "c1")),
		"another algorithm":     ingest.FluxSigned("sha1="+signature[7:], body, key),
		"no signature":          ingest.FluxSigned("", body, key),
		"an empty one":          ingest.FluxSigned("sha256=", body, key),
		"no digits":             ingest.FluxSigned("sha256=zz", body, key),
	} {
		if ok {
			t.Errorf("%s: is taken", name)
		}
	}
}
