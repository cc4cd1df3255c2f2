package client

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// newAgentClient returns a client of a handler, with a token file that holds "t0ken-one".
func newAgentClient(t *testing.T, answer http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	u, err := ParseServer(server.URL + "/fleet/")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("t0ken-one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &Client{Server: u, TokenFile: file, UserAgent: "kalypso-agent/test"}
}

func TestSendPostsACompressedBatch(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)
	r := hub.Report{Kind: "Kustomization", Namespace: "flux-system", Name: "a", Revision: "1", State: hub.StateReady, Observed: noon}
	batch := hub.NewReportBatch("large-07", noon, []hub.Report{r})
	client := newAgentClient(t, func(w http.ResponseWriter, r *http.Request) {
		header := map[string]string{}
		for _, name := range []string{"Authorization", "Content-Type", "Content-Encoding", "Idempotency-Key", "User-Agent"} {
			header[name] = r.Header.Get(name)
		}
		want := map[string]string{
			"Authorization": "Bearer t0ken-one", "Content-Type": "application/json", "Content-Encoding": "gzip",
			"Idempotency-Key": batch.ID, "User-Agent": "kalypso-agent/test",
		}
		if diff := cmp.Diff(want, header); diff != "" || r.Method+" "+r.URL.Path != "POST /fleet/api/v1/reports" {
			t.Errorf("%s %s, (-want +got):\n%s", r.Method, r.URL.Path, diff)
		}
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		var got hub.ReportBatch
		if err := json.NewDecoder(z).Decode(&got); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(batch, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		_, _ = w.Write([]byte(`{"resend":true}`))
	})
	receipt, err := client.Send(t.Context(), batch)
	if err != nil || !receipt.Resend {
		t.Errorf("got %v, %v", receipt, err)
	}
}

func TestSendAcceptsAnyAnswerWithASuccessStatus(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"", "ok", "[]", `{"resend":"perhaps"}`} {
		client := newAgentClient(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusAccepted)
			_, _ = w.Write([]byte(answer))
		})
		if receipt, err := client.Send(t.Context(), hub.NewReportBatch("", time.Now(), nil)); err != nil || receipt.Resend {
			t.Errorf("%q: got %v, %v", answer, receipt, err)
		}
	}
}

func TestReportRefusalsSayWhatToDo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status int
		header map[string]string
		body   string
		want   string
		after  time.Duration
	}{
		{401, nil, `{"detail":"no token t0ken-one"}`, `401 Unauthorized (no token *********): the token is wrong or revoked; get a new one`, 0},
		{403, nil, `{"title":"Forbidden"}`, "403 Forbidden (Forbidden): the token belongs to another cluster", 0},
		{404, nil, "<html>", "404 Not Found: the cluster is not registered", 0},
		{307, map[string]string{"Location": "https://ann:hunter2@evil.example.com/?x"}, "", "the server redirects to https://evil.example.com/: set --server", 0},
		{413, nil, "", "the batch is split", 0},
		{422, nil, `{"detail":"a\u001b[2Jb\nc"}`, "(a [2Jb c): the rejected report is left out", 0},
		{429, map[string]string{"Retry-After": "30"}, "", "the agent tries again", 30 * time.Second},
		{503, map[string]string{"Retry-After": "999999999"}, "", "the agent tries again", time.Hour},
		{400, nil, "", "check that --server is the address", 0},
	} {
		client := newAgentClient(t, func(w http.ResponseWriter, _ *http.Request) {
			for name, value := range test.header {
				w.Header().Set(name, value)
			}
			w.WriteHeader(test.status)
			_, _ = w.Write([]byte(test.body))
		})
		_, err := client.Send(t.Context(), hub.NewReportBatch("", time.Now(), nil))
		var refused *ReportRefusal
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), test.want) || refused.After != test.after {
			t.Errorf("%d: got %v, want %q, after %v", test.status, err, test.want, test.after)
		}
		if text := err.Error(); strings.Contains(text, "t0ken") || strings.Contains(text, "hunter2") || strings.ContainsAny(text, "\n\x1b") {
			t.Errorf("%d: the error shows too much: %q", test.status, text)
		}
	}
}

func TestTokenFileIsReadBeforeEachAttempt(t *testing.T) {
	t.Parallel()
	var got []string
	client := newAgentClient(t, func(_ http.ResponseWriter, r *http.Request) { got = append(got, r.Header.Get("Authorization")) })
	send := func() error {
		_, err := client.Send(t.Context(), hub.NewReportBatch("", time.Now(), nil))
		return err
	}
	if err := send(); err != nil {
		t.Error(err)
	}
	for text, want := range map[string]string{"": "is empty", "a b": "must contain one token"} {
		if err := os.WriteFile(client.TokenFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := send(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", text, err)
		}
	}
	if err := os.WriteFile(client.TokenFile, []byte("two"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := send(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"Bearer t0ken-one", "Bearer two"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := os.Remove(client.TokenFile); err != nil {
		t.Fatal(err)
	}
	if err := send(); err == nil || !strings.Contains(err.Error(), "read the token: open ") {
		t.Errorf("got %v", err)
	}
}

func TestSendToAnUnreachableServer(t *testing.T) {
	t.Parallel()
	client := newAgentClient(t, nil)
	client.Server = &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	if _, err := client.Send(t.Context(), hub.NewReportBatch("", time.Now(), nil)); err == nil || !strings.Contains(err.Error(), "reach the server: ") {
		t.Errorf("got %v", err)
	}
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	if client.Server, _ = ParseServer(secure.URL); client.Server == nil {
		t.Fatal("no URL")
	}
	if _, err := client.Send(t.Context(), hub.NewReportBatch("", time.Now(), nil)); err == nil || !strings.Contains(err.Error(), "SSL_CERT_FILE") {
		t.Errorf("got %v, want what to do about the certificate", err)
	}
}

func TestParseServer(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{"", "kalypso.example.com", "ftp://a", "https://", "https://ann:hunter2@a", "https://a?token=hunter2", "http://[::1"} {
		if u, err := ParseServer(wrong); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: got %v, %v", wrong, u, err)
		}
	}
}
