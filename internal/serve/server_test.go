package serve

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// signed is a forge whose webhooks contain an ID and, after a space, a time; the signature is the secret itself.
type signed struct{}

func (signed) VerifyWebhook(h http.Header, body []byte, key forge.Secret) (forge.Event, error) {
	if h.Get("Signature") != key.Reveal() {
		return forge.Event{}, &forge.Error{Kind: forge.ErrDenied}
	}
	delivery, at, _ := strings.Cut(string(body), " ")
	if delivery == "" {
		return forge.Event{}, &forge.Error{Kind: forge.ErrInvalid}
	}
	when, _ := time.Parse(time.RFC3339, at)
	return forge.Event{Kind: forge.EventPush, Repository: "platform/gitops", Delivery: delivery, Time: when}, nil
}

func newServer(t *testing.T) *Server {
	t.Helper()
	registry := prometheus.NewRegistry()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	s := &Server{
		Keeper:  &Keeper{Flows: &fakeFlows{}, ControlPlanes: []string{controlPlane}, Log: log, Metrics: NewMetrics(registry)},
		Hooks:   []Hook{{Name: "forge", Verifier: signed{}, Secret: forge.NewSecret("s3cret-of-the-hook")}, {Name: "open", Verifier: signed{}}},
		Metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
		Log:     log,
	}
	s.Keeper.start()
	return s
}

func ask(s http.Handler, method, path, signature, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Signature", signature)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestWebhooksTakeOnlyWhatIsSignedAndNew(t *testing.T) {
	h := newServer(t).Handler()
	old := time.Now().Add(-time.Hour).Format(time.RFC3339)
	for _, test := range []struct {
		name, path, signature, body string
		want                        int
	}{
		{"signed", "/webhooks/forge", "s3cret-of-the-hook", "one", http.StatusAccepted},
		{"repeated", "/webhooks/forge", "s3cret-of-the-hook", "one", http.StatusOK},
		{"an old one replayed", "/webhooks/forge", "s3cret-of-the-hook", "two " + old, http.StatusOK},
		{"not signed", "/webhooks/forge", "", "three", http.StatusUnauthorized},
		{"signed with something else", "/webhooks/forge", "guess", "three", http.StatusUnauthorized},
		{"not understood", "/webhooks/forge", "s3cret-of-the-hook", "", http.StatusBadRequest},
		{"a hook without a secret", "/webhooks/open", "", "four", http.StatusNotFound},
		{"no such hook", "/webhooks/unknown", "", "four", http.StatusNotFound},
		{"too large", "/webhooks/forge", "s3cret-of-the-hook", strings.Repeat("x", maxDelivery+1), http.StatusRequestEntityTooLarge},
	} {
		if got := ask(h, http.MethodPost, test.path, test.signature, test.body); got.Code != test.want {
			t.Errorf("%s: status %d (%s), want %d", test.name, got.Code, strings.TrimSpace(got.Body.String()), test.want)
		}
	}
	if got := ask(h, http.MethodGet, "/webhooks/forge", "", ""); got.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET: status %d", got.Code)
	}
	metrics := ask(h, http.MethodGet, "/metrics", "", "").Body.String()
	for _, line := range []string{
		`kalypso_webhooks_total{forge="forge",result="accepted"} 1`,
		`kalypso_webhooks_total{forge="forge",result="not signed with the secret"} 2`,
		`kalypso_queue_depth 0`,
	} {
		if !strings.Contains(metrics, line) {
			t.Errorf("metrics lack %s", line)
		}
	}
}

func TestTheMemoryOfDeliveriesIsBounded(t *testing.T) {
	w := newWebhooks(nil, func(forge.Event) {}, nil)
	for i := range 3 * maxRemembered {
		w.replayed("forge", forge.Event{}, sha256.Sum256([]byte{byte(i), byte(i >> 8), byte(i >> 16)}))
	}
	if len(w.seen) > maxRemembered {
		t.Errorf("%d deliveries are remembered", len(w.seen))
	}
}

func TestTheServerIsReadyWhenItHasReadEverything(t *testing.T) {
	s := newServer(t)
	if got := ask(s.Handler(), http.MethodGet, "/readyz", "", ""); got.Code != http.StatusServiceUnavailable {
		t.Errorf("before: %d", got.Code)
	}
	if err := s.Keeper.listEnvironments(t.Context(), controlPlane); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/readyz", "/healthz"} {
		if got := ask(s.Handler(), http.MethodGet, path, "", ""); got.Code != http.StatusOK {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
}

// TestDiscoveryEnds: clients that look for metadata after a 401 want 404, and not a page where people sign in.
func TestDiscoveryEnds(t *testing.T) {
	s := newServer(t)
	s.Pages = func(mux *http.ServeMux) { mux.Handle("/", http.RedirectHandler("/-/sign-in", http.StatusSeeOther)) }
	for _, path := range []string{"oauth-protected-resource", "oauth-protected-resource/mcp", "oauth-authorization-server", "openid-configuration"} {
		if got := ask(s.Handler(), http.MethodGet, "/.well-known/"+path, "", ""); got.Code != http.StatusNotFound {
			t.Errorf("%s: %d to %s", path, got.Code, got.Header().Get("Location"))
		}
	}
}

func TestReadinessReportsProblems(t *testing.T) {
	s := newServer(t)
	if err := s.Keeper.listEnvironments(t.Context(), controlPlane); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		health Health
		status int
		body   string
	}{
		{Health{}, http.StatusOK, "ok\n"},
		{Health{Warnings: []string{"2 repositories do not answer"}}, http.StatusOK, "ok\nwarning: 2 repositories do not answer\n"},
		{Health{Unready: []string{"the disk is full"}, Warnings: []string{"more"}}, http.StatusServiceUnavailable, "the disk is full\nwarning: more\n"},
	} {
		s.Health = func() Health { return test.health }
		got := ask(s.Handler(), http.MethodGet, "/readyz", "", "")
		if got.Code != test.status || got.Body.String() != test.body || (got.Header().Get("Retry-After") != "") != (test.status != http.StatusOK) {
			t.Errorf("status %d, %q", got.Code, got.Body)
		}
	}
}

// Streams end when the server stops: it does not wait for their clients.
func TestStoppingEndsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		listening, stopping := make(chan struct{}), make(chan struct{})
		s.API = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			close(listening)
			<-stopping
		})
		s.Stopping = func() { close(stopping) }
		client, theirs := net.Pipe()
		defer client.Close()
		listener := make(pipes, 1)
		listener <- theirs
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Serve(ctx, listener) }()
		go func() { _, _ = io.Copy(io.Discard, client) }()
		if _, err := io.WriteString(client, "GET /api/v1/events HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		<-listening
		begun := time.Now() // of the test's own clock
		stop()
		close(listener)
		if err := <-ended; err != nil && !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		if took := time.Since(begun); took >= shutdown {
			t.Errorf("stopping took %s", took)
		}
	})
}
