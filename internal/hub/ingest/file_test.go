package ingest_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// key is made of a letter; its public half is as it is registered.
func key(t testing.TB, seed string) (ed25519.PrivateKey, string) {
	t.Helper()
	private := ed25519.NewKeyFromSeed([]byte(strings.Repeat(seed, ed25519.SeedSize)))
	der, err := x509.MarshalPKIXPublicKey(private.Public())
	if err != nil {
		t.Fatal(err)
	}
	return private, string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// signed is a file with a line for each batch.
func signed(t testing.TB, private ed25519.PrivateKey, batches ...hub.ReportBatch) []byte {
	t.Helper()
	var file bytes.Buffer
	for _, b := range batches {
		line, err := hub.SignReports(b, private)
		if err != nil {
			t.Fatal(err)
		}
		file.Write(line)
	}
	return file.Bytes()
}

func TestTakeFile(t *testing.T) {
	w := newWorld(t)
	private, public := key(t, "k")
	stranger, _ := key(t, "s")
	register := func(r ledger.Registration) {
		if err := w.ledger.Register(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	register(ledger.Registration{Cluster: "large-07", PublicKey: public, At: noon})
	register(ledger.Registration{Cluster: "broken", PublicKey: "hello", At: noon})

	written := hub.NewReportBatch("large-07", noon, []hub.Report{report("platform", 1, hub.StateReady, noon)})
	empty := hub.NewReportBatch("large-07", after(time.Hour), nil)
	file := signed(t, private, written, empty)
	arrives := after(72 * time.Hour)
	for range 2 {
		got, err := w.intake.TakeFile(t.Context(), w.ledger, bytes.NewReader(append(file, "\n\n"...)), arrives)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(ingest.Imported{Batches: 2, Reports: 1, Clusters: []string{"large-07"}}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	w.expect("platform ready 1 since 12:00:00")
	if got := w.heard(); !got.Equal(after(time.Hour)) {
		t.Errorf("heard at %s, want when the file was written", got)
	}
	if clocks, err := w.ledger.Clocks(t.Context(), "large-07"); err != nil || len(clocks) > 0 {
		t.Errorf("got %v, %v, want no correction: a file is always late", clocks, err)
	}

	about := func(cluster string) hub.ReportBatch { return hub.NewReportBatch(cluster, noon, nil) }
	wrong := about("large-07")
	wrong.Kind = "Cluster"
	for name, tc := range map[string]struct {
		file []byte
		kind error
		text string
	}{
		"stranger":         {signed(t, stranger, about("large-07")), ingest.ErrDenied, "line 1: no signature is of a known key"},
		"another cluster":  {signed(t, private, about("small-01")), ingest.ErrDenied, `about cluster "small-01"`},
		"no envelope":      {[]byte("\nhello\n"), ingest.ErrDenied, "line 2: read signed reports"},
		"wrong content":    {signed(t, private, wrong), ingest.ErrInvalid, "line 1"},
		"one line too big": {bytes.Repeat([]byte("x"), 7<<20), ingest.ErrTooLarge, "line 1 has more than"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.intake.TakeFile(t.Context(), w.ledger, bytes.NewReader(tc.file), arrives)
			refused(t, err, tc.kind, tc.text)
		})
	}
	register(ledger.Registration{Cluster: "large-07", PublicKey: public, Revoked: true, At: after(time.Hour)})
	_, err := w.intake.TakeFile(t.Context(), w.ledger, bytes.NewReader(file), arrives)
	refused(t, err, ingest.ErrDenied, "known key")
}

// A file from the future, by the clock of its cluster, was heard of when it arrived.
func TestFileOfClockAhead(t *testing.T) {
	for _, ahead := range []time.Duration{time.Minute, time.Hour} {
		w := newWorld(t)
		private, public := key(t, "k")
		if err := w.ledger.Register(t.Context(), ledger.Registration{Cluster: "large-07", PublicKey: public, At: noon}); err != nil {
			t.Fatal(err)
		}
		file := signed(t, private, hub.NewReportBatch("large-07", after(ahead), nil))
		if _, err := w.intake.TakeFile(t.Context(), w.ledger, bytes.NewReader(file), noon); err != nil {
			t.Fatal(err)
		}
		if got := w.heard(); !got.Equal(noon) {
			t.Errorf("%s ahead: heard at %s, want its arrival", ahead, got)
		}
	}
}
