package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"

	"github.com/kalypso-io/kalypso/internal/cli/backend"
)

const kustomization = `{"apiVersion":"kustomize.toolkit.fluxcd.io/v1","kind":"Kustomization",` +
	`"metadata":{"name":"platform-dev","namespace":"flux-system","resourceVersion":"7","generation":1},` +
	`"spec":{"path":"./large","sourceRef":{"kind":"GitRepository","name":"platform"}},` +
	`"status":{"lastAppliedRevision":"dev@sha1:1f0e0a7c5bd94c2f8a63b7d1e4f5a6b7c8d9e0f1","conditions":[{"type":"Ready","status":"True"}]}}`

// newAPIServer is a cluster with one Kustomization of Flux, and no other kind. It returns a kubeconfig.
func newAPIServer(t *testing.T) string {
	t.Helper()
	const group = "/apis/kustomize.toolkit.fluxcd.io/v1"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method != http.MethodGet:
			t.Errorf("the agent does more than read: %s %s", r.Method, r.URL)
		case r.URL.Path == group:
			fmt.Fprint(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"kustomize.toolkit.fluxcd.io/v1",`+
				`"resources":[{"name":"kustomizations","kind":"Kustomization","namespaced":true}]}`)
		case r.URL.Path != group+"/kustomizations":
			w.WriteHeader(http.StatusNotFound)
		case r.URL.Query().Get("watch") == "":
			fmt.Fprintf(w, `{"apiVersion":"kustomize.toolkit.fluxcd.io/v1","kind":"KustomizationList","metadata":{"resourceVersion":"7"},"items":[%s]}`, kustomization)
		default:
			if r.URL.Query().Get("sendInitialEvents") == "true" {
				fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n", kustomization)
				fmt.Fprint(w, `{"type":"BOOKMARK","object":{"apiVersion":"kustomize.toolkit.fluxcd.io/v1","kind":"Kustomization",`+
					`"metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n")
			}
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{"apiVersion":"v1","kind":"Config","current-context":"a","contexts":[{"name":"a","context":{"cluster":"a"}}],` +
		`"clusters":[{"name":"a","cluster":{"server":"` + server.URL + `"}}]}`
	writeText(t, kubeconfig, text)
	return kubeconfig
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func wantReport(t *testing.T, batch *hub.ReportBatch) {
	t.Helper()
	if err := batch.Check(); err != nil {
		t.Error(err)
	}
	if batch.Cluster != "large-07" || len(batch.Reports) != 1 {
		t.Fatalf("got %+v, want one report about large-07", batch)
	}
	r := batch.Reports[0]
	got := fmt.Sprint(r.Kind, " ", r.Namespace, "/", r.Name, " ", r.Path, " ", r.State, " ", r.Revision)
	if want := "Kustomization flux-system/platform-dev large ready 1f0e0a7c5bd94c2f8a63b7d1e4f5a6b7c8d9e0f1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAgentReports(t *testing.T) {
	t.Parallel()
	batches := make(chan hub.ReportBatch, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer t0ken" {
			t.Errorf("got authorization %q", got)
		}
		var batch hub.ReportBatch
		z, err := gzip.NewReader(r.Body)
		if err == nil {
			err = json.NewDecoder(z).Decode(&batch)
		}
		if err != nil {
			t.Error(err)
		}
		batches <- batch
	}))
	defer server.Close()
	dir := t.TempDir()
	writeText(t, filepath.Join(dir, "token"), "t0ken\n")

	ctx, stop := context.WithCancel(t.Context())
	var out, log bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{
			"agent", "--server", server.URL, "--token-file", filepath.Join(dir, "token"), "--kubeconfig", newAPIServer(t),
			"--cluster", "large-07", "--state-dir", filepath.Join(dir, "state"),
		}, nil, strings.NewReader(""), &out, &log)
	}()
	batch := <-batches
	wantReport(t, &batch)
	stop()
	if got := <-code; got != 0 || strings.Contains(log.String(), "t0ken") || !strings.Contains(log.String(), "agent stopped") {
		t.Errorf("exit code %d, the log is\n%s", got, &log)
	}
	out.Reset()
	if got := run(t.Context(), []string{"agent", "--check", "--state-dir", filepath.Join(dir, "state")}, nil, nil, &out, &log); got != 0 ||
		!strings.HasPrefix(out.String(), "the agent knows 1 reconcilers") {
		t.Errorf("--check: exit code %d, %s", got, &out)
	}
}

// newKey writes a key of a cluster, and its public half.
func newKey(t *testing.T, dir string) (private, public string) {
	t.Helper()
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte("k"), ed25519.SeedSize))
	private, public = filepath.Join(dir, "key.pem"), filepath.Join(dir, "key.pub")
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, private, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
	if der, err = x509.MarshalPKIXPublicKey(key.Public()); err != nil {
		t.Fatal(err)
	}
	writeText(t, public, string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})))
	return private, public
}

// TestReportsThatAreCarriedByHand: a cluster without a connection writes a signed file, which a ledger takes only from a
// cluster whose key is registered; so does a server.
func TestReportsThatAreCarriedByHand(t *testing.T) {
	t.Parallel()
	q := newQuestioned(t)
	dir := t.TempDir()
	private, public := newKey(t, dir)
	file := filepath.Join(dir, "reports.jsonl")
	local := []string{backend.EnvLedger + "=" + q.file}
	must := func(env []string, args ...string) string {
		t.Helper()
		code, out, stderr := q.runWith(t.Context(), env, args...)
		if code != 0 {
			t.Fatalf("%v: exit code %d:\n%s", args, code, stderr)
		}
		return out
	}
	must(nil, "cluster", "report", "large-07", "--export", file, "--key", private, "--kubeconfig", newAPIServer(t))
	if code, _, stderr := q.runWith(t.Context(), local, "ledger", "import", file); code != 1 || !strings.Contains(stderr, "line 1") {
		t.Errorf("a stranger's reports: exit code %d, %s", code, stderr)
	}
	must(local, "cluster", "register", "large-07", "--member", "dev/large", "--key", public)
	if got, want := must(local, "ledger", "import", file), file+": imported 1 report of large-07\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := must(local, "cluster", "show", "large-07"); !strings.Contains(got, "Kustomization flux-system/platform-dev") {
		t.Errorf("got\n%s", got)
	}
	remote := []string{backend.EnvServer + "=" + q.url, backend.EnvToken + "=" + q.token.Reveal()}
	if got := must(remote, "ledger", "import", file); !strings.Contains(got, "imported 1 report of large-07") {
		t.Errorf("got %q", got)
	}
	writeText(t, file, `{"heartbeat":{"cluster":"large-07","at":"2025-03-01T10:00:00Z"}}`)
	if code, _, stderr := q.runWith(t.Context(), remote, "ledger", "import", file); code != 1 || !strings.Contains(stderr, "accepts only signed reports") {
		t.Errorf("facts for a server: exit code %d, %s", code, stderr)
	}
}
