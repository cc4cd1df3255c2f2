package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// token creates a token with a role.
func (w *world) token(role access.Role) string {
	w.t.Helper()
	token := access.NewToken(role)
	w.must(w.ledger.PutToken(w.t.Context(), ledger.Token{ID: string(role), Description: "Ann", Role: string(role), Hash: access.Hash(token), Created: noon}))
	return token.Reveal()
}

func TestUnauthorizedUsersSeeNothing(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	w.pages.Guard.Anonymous = access.AnonymousNever
	for _, path := range []string{"/", "/environments/dev", "/environments/unknown", "/clusters", "/search?q=dev", "/history"} {
		a := w.ask(path)
		if a.Code != http.StatusUnauthorized || a.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s: got %d", path, a.Code)
		}
		if strings.Contains(a.Body.String(), "large-0") {
			t.Errorf("%s shows the fleet", path)
		}
		parse(t, a.Body).wants(".copied code", "kalypso token create")
	}
	a := w.ask("/", "Accept", "application/json")
	if p := decoded(t, a.Body.Bytes()).(map[string]any); a.Code != http.StatusUnauthorized || p["status"] != 401.0 || p["next"] == "" {
		t.Errorf("got %d %v", a.Code, p)
	}
}

func TestPagesDependOnTheRole(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	w.pages.Guard.Anonymous = access.AnonymousNever
	w.must(w.ledger.RecordAudit(t.Context(), ledger.AuditEntry{At: noon, By: "Ann", Action: "pause", Subject: "dev"}))
	for _, tc := range []struct {
		role           access.Role
		status, audits int
	}{
		{access.Reader, http.StatusOK, 0},
		{access.Operator, http.StatusOK, 0},
		{access.Admin, http.StatusOK, 1},
		{access.Join, http.StatusForbidden, 0},
	} {
		a := w.ask("/history?kind=all", "Authorization", "Bearer "+w.token(tc.role))
		if a.Code != tc.status {
			t.Errorf("%s: got %d, want %d", tc.role, a.Code, tc.status)
		}
		if got := strings.Count(a.Body.String(), "pause dev"); got != tc.audits {
			t.Errorf("%s sees %d entries of the audit trail, want %d", tc.role, got, tc.audits)
		}
		if tc.status == http.StatusOK {
			parse(t, a.Body).wants(".who", "Ann · "+string(tc.role))
		}
	}
}

func TestHeaders(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/", "/environments/unknown"} {
		h := w.ask(path).Header()
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
			"X-Content-Type-Options":  "nosniff", "X-Frame-Options": "DENY", "Content-Type": "text/html; charset=utf-8",
		} {
			if h.Get(name) != want {
				t.Errorf("%s: %s is %q, want %q", path, name, h.Get(name), want)
			}
		}
		if !strings.Contains(h.Get("Vary"), "Cookie") || !strings.Contains(h.Get("Vary"), "Accept") {
			t.Errorf("%s: Vary is %q: a cache would show one page to all", path, h.Get("Vary"))
		}
	}
}

// TestRegisteredPaths checks that pages, API and forge share one address.
func TestRegisteredPaths(t *testing.T) {
	w := newWorld(t)
	mux := http.NewServeMux()
	mux.Handle(api.Root+"/", http.NotFoundHandler())
	mux.HandleFunc("/", func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusTeapot) })
	w.pages.Register(mux)
	w.mux = mux
	for path, want := range map[string]int{
		"/": 200, "/-/kalypso.css": 200, "/-/kalypso.js": 200, "/-/kalypso.svg": 200, "/environments": 200, "/clusters/": 404,
		"/environments/a/b": 404, "/-/style.css": 418, "/-/sign-in": 418, "/platform/gitops": 418, "/platform": 418,
	} {
		if got := w.ask(path).Code; got != want {
			t.Errorf("%s: got %d, want %d", path, got, want)
		}
	}
}
