package wiring

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/connect"
	"github.com/kalypso-io/kalypso/internal/forge/gitea/giteatest"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// collector receives spans, and keeps their bytes, which contain readable texts.
type collector struct {
	*httptest.Server
	mu   sync.Mutex
	sent bytes.Buffer
}

func newCollector(t *testing.T) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, _ = io.Copy(&c.sent, r.Body)
	}))
	t.Cleanup(c.Close)
	return c
}

func TestTracingShowsTheRoundItsPartsAndTheForge(t *testing.T) {
	t.Parallel()
	w, gitea := newGiteaWorld(t)
	spans := newCollector(t)
	hide := secret.Hider(secret.New(giteatest.Token), secret.New("t0ken-of-nobody"))
	tracing, err := startTracing(t.Context(), serve.TracingConfig{Endpoint: spans.URL + "/v1/traces"}, nil, hide, slog.New(slog.DiscardHandler), "devel")
	if err != nil {
		t.Fatal(err)
	}
	w.flows.tracing = tracing
	config := forge.Connection{Kind: forge.Gitea, URL: gitea.URL, TokenEnv: "BOT"}
	connect := func(token string) {
		host, err := connect.Open(config, map[string]string{"BOT": token}, transport.Config{Base: tracing.transport()})
		if err != nil {
			t.Fatal(err)
		}
		w.flows.Forges = forge.Forges{host}
	}
	connect(giteatest.Token)
	w.round("dev")
	connect("t0ken-of-nobody")
	if _, err := w.try("dev"); err == nil {
		t.Error("the forge takes any token")
	}
	tracing.end(t.Context(), slog.New(slog.DiscardHandler))
	spans.mu.Lock()
	defer spans.mu.Unlock()
	got := spans.sent.String()
	for _, want := range []string{
		"round", "kalypso.environment", "read", "build", "plan", "find the pull request", "propose", "push", "report",
		"forge GET", "forge POST", "/api/v1/repos/platform/gitops/pulls", "the token is missing, expired or revoked",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no span says %q", want)
		}
	}
	for _, hidden := range []string{giteatest.Token, "t0ken-of-nobody"} {
		if strings.Contains(got, hidden) {
			t.Errorf("a span tells %q", hidden)
		}
	}
}

func TestTracingIsOffByDefault(t *testing.T) {
	t.Parallel()
	tracing, err := startTracing(t.Context(), serve.TracingConfig{}, nil, secret.Hider(), nil, "devel")
	if err != nil || tracing.transport() != nil {
		t.Errorf("it is on (%v)", err)
	}
}

// Spans are sent again to a collector that is busy, with the headers of the standard variables.
func TestSpansAreSentAgain(t *testing.T) {
	t.Parallel()
	var got []string
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.URL.Path+" "+r.Header.Get("X-Team"))
		if len(got) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer busy.Close()
	sender, err := newSpanSender("", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": busy.URL + "/", "OTEL_EXPORTER_OTLP_HEADERS": "x-team=platform%20team"})
	if err != nil {
		t.Fatal(err)
	}
	if err := sender.UploadTraces(t.Context(), nil); err != nil || len(got) != 2 || got[1] != "/v1/traces platform team" {
		t.Errorf("got %q, %v", got, err)
	}
	for name, env := range map[string]map[string]string{
		"no URL":     {"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4318"},
		"no headers": {"OTEL_EXPORTER_OTLP_ENDPOINT": busy.URL, "OTEL_EXPORTER_OTLP_HEADERS": "t0ken"},
		"no time":    {"OTEL_EXPORTER_OTLP_ENDPOINT": busy.URL, "OTEL_EXPORTER_OTLP_TIMEOUT": "5s"},
		"no file":    {"OTEL_EXPORTER_OTLP_ENDPOINT": busy.URL, "OTEL_EXPORTER_OTLP_CERTIFICATE": "/nowhere"},
	} {
		if _, err := newSpanSender("", env); err == nil || strings.Contains(err.Error(), "t0ken") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
