package v1alpha1

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 123456000, time.UTC)

func exampleReport() Report {
	return Report{
		Kind: "Kustomization", Namespace: "flux-system", Name: "platform-dev",
		Repository: "https://example.com/acme/gitops", Ref: "dev", Path: "large",
		Revision: strings.Repeat("c0ffee1234", 4), State: StateReady, Observed: noon,
	}
}

// Agents of other versions send this format, so it must not change by accident.
func TestReportBatchFormat(t *testing.T) {
	batch := NewReportBatch("large-07", noon, []Report{exampleReport()})
	want := `{"apiVersion":"hub.kalypso.io/v1alpha1","kind":"ReportBatch","id":"` + batch.ID + `","cluster":"large-07",` +
		`"sent":"2026-11-20T12:00:00.123456Z","reports":[{"kind":"Kustomization","namespace":"flux-system","name":"platform-dev",` +
		`"repository":"https://example.com/acme/gitops","ref":"dev","path":"large",` +
		`"revision":"c0ffee1234c0ffee1234c0ffee1234c0ffee1234","state":"ready","observed":"2026-11-20T12:00:00.123456Z"}]}`
	text, err := json.Marshal(batch)
	if err != nil || string(text) != want {
		t.Errorf("got %s, %v, want %s", text, err, want)
	}
	var back ReportBatch
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(batch, back); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	if err := back.Check(); err != nil {
		t.Error(err)
	}
	heartbeat := NewReportBatch("large-07", noon.Add(time.Minute), nil)
	if err := heartbeat.Check(); err != nil || heartbeat.ID == NewReportBatch("large-07", noon, nil).ID {
		t.Errorf("heartbeat: got %v, want none, and an id of its own", err)
	}
}

func TestReportBatchCheck(t *testing.T) {
	for _, test := range []struct {
		name   string
		damage func(b *ReportBatch)
		want   string
	}{
		{"kind", func(b *ReportBatch) { b.Kind = "Cluster" }, `it is a "Cluster" of`},
		{"id", func(b *ReportBatch) { b.ID = "" }, "id is required"},
		{"sent", func(b *ReportBatch) { b.Sent = time.Time{} }, "sent is 0001-01-01T00:00:00Z, want a time"},
		{"dropped", func(b *ReportBatch) { b.Dropped = -1 }, "dropped is negative"},
		{"too many", func(b *ReportBatch) { b.Reports = make([]Report, 501) }, "501 reports, want at most 500"},
		{"state", func(b *ReportBatch) { b.Reports[0].State = "green" }, `reports[0]: state is "green"`},
		{"name", func(b *ReportBatch) { b.Reports[0].Name = "" }, "name is required"},
		{"observed", func(b *ReportBatch) { b.Reports[0].Observed = time.Unix(0, 0) }, "observed is 1970"},
		{"message", func(b *ReportBatch) { b.Reports[0].Message = strings.Repeat("x", 1025) }, "message has 1025 bytes, want at most 1024"},
		{"newline", func(b *ReportBatch) { b.Reports[0].Message = "a\nlevel=error" }, "message has control characters"},
		{"not UTF-8", func(b *ReportBatch) { b.Reports[0].Path = "\xff" }, "path is not UTF-8"},
	} {
		batch := NewReportBatch("a", noon, []Report{exampleReport()})
		test.damage(&batch)
		if err := batch.Check(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

func testKey(seed string) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte(strings.Repeat(seed, ed25519.SeedSize)))
}

func TestSignedReports(t *testing.T) {
	key := testKey("k")
	batch := NewReportBatch("sealed", noon, []Report{exampleReport()})
	file, err := SignReports(batch, key)
	if err != nil {
		t.Fatal(err)
	}
	public := key.Public().(ed25519.PublicKey)
	known := func(cluster string) func(string) (string, ed25519.PublicKey, bool) {
		return func(id string) (string, ed25519.PublicKey, bool) { return cluster, public, id == KeyID(public) }
	}
	got, err := OpenReports(file, known("sealed"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&batch, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	other, err := SignReports(batch, testKey("o"))
	if err != nil {
		t.Fatal(err)
	}
	var forged SignedReports
	if err := json.Unmarshal(file, &forged); err != nil {
		t.Fatal(err)
	}
	forged.Payload[len(forged.Payload)-3] ^= 1
	changed, err := json.Marshal(forged)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, cluster string
		file          []byte
		want          string
	}{
		{"another cluster's", "open", file, `about cluster "sealed", and signed by "open"`},
		{"unknown key", "sealed", other, "no signature is of a known key"},
		{"changed", "sealed", changed, "no signature is of a known key"},
		{"no envelope", "sealed", []byte(`{"payloadType":"text"}`), `it holds "text"`},
		{"no JSON", "sealed", []byte("x"), "read signed reports"},
	} {
		if _, err := OpenReports(test.file, known(test.cluster)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

func TestReportKeys(t *testing.T) {
	key := testKey("k")
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	gotPrivate, err := ParseReportKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	if err != nil || !gotPrivate.Equal(key) {
		t.Errorf("private: got another key, or %v", err)
	}
	gotPublic, err := ParseReportPublicKey(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
	if err != nil || !gotPublic.Equal(key.Public()) {
		t.Errorf("public: got another key, or %v", err)
	}
	for _, text := range []string{"", "secret", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}))} {
		if _, err := ParseReportKey([]byte(text)); err == nil {
			t.Errorf("%q: got no error", text)
		}
	}
}
