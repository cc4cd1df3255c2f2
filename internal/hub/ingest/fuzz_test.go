package ingest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// fuzz gives bodies to an intake. They are refused, or everything that is stored is fit to be shown.
func fuzz(f *testing.F, seeds []string, take func(ctx context.Context, i *ingest.Intake, body []byte) error) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	l := openLedger(f)
	intake := &ingest.Intake{Ledger: l}
	f.Fuzz(func(t *testing.T, body []byte) {
		var refused *ingest.Refusal
		if err := take(t.Context(), intake, body); errors.As(err, &refused) {
			fit(t, refused.Text)
			return
		} else if err != nil {
			t.Fatalf("got %v, want a refusal or nothing", err)
		}
		page, err := l.States(t.Context(), ledger.StateQuery{Cluster: "c"})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page.States {
			id := s.Reconciler
			for _, text := range []string{id.Kind, id.Namespace, id.Name, s.Source.Repository, s.Source.Ref, s.Source.Path, s.Revision, s.Message} {
				fit(t, text)
			}
			if len(s.Message) > hub.MaxMessage || len(s.Source.Path) > hub.MaxAddress || len(id.Name) > hub.MaxName+8 {
				t.Errorf("got %d, %d and %d bytes, want less", len(s.Message), len(s.Source.Path), len(id.Name))
			}
		}
	})
}

// fit wants a text without control characters. A batch that has several mistakes names each on a line.
func fit(t *testing.T, text string) {
	t.Helper()
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(c rune) bool { return c < ' ' && c != '\n' || c >= 0x7f && c < 0xa0 || c == 0x202e }) {
		t.Errorf("got %q, want a text that can be shown", text)
	}
}

func FuzzBatch(f *testing.F) {
	fuzz(f, []string{
		`{"apiVersion":"hub.kalypso.io/v1alpha1","kind":"ReportBatch","id":"a","sent":"2026-11-20T12:00:00Z","reports":[
		 {"kind":"K","namespace":"n","name":"x","repository":"git@h:p","ref":"main","path":"./a/../b","revision":"main@sha1:` + sha(1) + `","state":"ready","observed":"2026-11-20T12:00:00Z"}]}`,
		`{"apiVersion":"hub.kalypso.io/v1alpha1","kind":"ReportBatch","id":"a","sent":"9999-11-20T12:00:00Z","reports":[
		 {"kind":"K","name":"x","state":"failed","message":"\u202e","observed":"1971-11-20T12:00:00Z"}]}`,
		`{"reports": [[]]}`, `{"reports": {}}`, `null`, `[`,
	}, func(ctx context.Context, i *ingest.Intake, body []byte) error {
		b, err := ingest.ParseBatch(body)
		if err == nil {
			_, err = i.Take(ctx, "c", b, noon)
		}
		return err
	})
}

func FuzzFluxEvent(f *testing.F) {
	fuzz(f, []string{
		`{"involvedObject":{"kind":"Kustomization","name":"x"},"severity":"error","timestamp":"2026-11-20T12:00:00Z","reason":"BuildFailed","message":"a\nb","metadata":{"revision":"x"}}`,
		`{"involvedObject":{"kind":"K","name":"x"},"severity":"info","timestamp":"9999-12-31T23:59:59Z","reason":"ReconciliationSucceeded"}`, `{"metadata": {"a": 1}}`,
	}, func(ctx context.Context, i *ingest.Intake, body []byte) error {
		e, err := ingest.ParseFluxEvent(body)
		if err == nil {
			err = i.TakeFlux(ctx, "c", e, noon)
		}
		return err
	})
}

func FuzzArgoNotification(f *testing.F) {
	fuzz(f, []string{
		`{"apiVersion":"hub.kalypso.io/v1alpha1","kind":"ArgoNotification","name":"x","sources":[{"repoURL":"https://u:p@h/x","path":"/"},{}],"sync":"Synced","health":"Healthy","revisions":["a"]}`,
		`{"apiVersion":"hub.kalypso.io/v1alpha1","kind":"ArgoNotification","name":"x","sent":"0001-01-01T00:00:01Z"}`,
	}, func(ctx context.Context, i *ingest.Intake, body []byte) error {
		n, err := ingest.ParseArgoNotification(body)
		if err == nil {
			err = i.TakeArgo(ctx, "c", n, noon)
		}
		return err
	})
}
