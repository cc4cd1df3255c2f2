package session_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/session"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// world is a server with sessions over a real ledger, at a time that tests move.
type world struct {
	t        *testing.T
	now      time.Time
	ledger   *sqlite.Ledger
	guard    *access.Guard
	sessions *session.Sessions
	server   *httptest.Server
	log      bytes.Buffer
	// more are further addresses; nil for none.
	more func(*http.ServeMux)
}

// option changes how a world is made.
type option func(*session.Options)

func newWorld(t *testing.T, options ...option) *world {
	t.Helper()
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	w := &world{t: t, ledger: l, now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	w.server = httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.answer(rw, r) }))
	t.Cleanup(w.server.Close)
	w.guard = &access.Guard{Store: l, Now: w.clock}
	w.sessions = w.another(secret.New("the key of the data folder"), options...)
	w.guard.Others = []access.Authenticator{w.sessions}
	return w
}

// another is what a further server has, or one that was started again.
func (w *world) another(key secret.Value, options ...option) *session.Sessions {
	w.t.Helper()
	o := session.Options{Guard: w.guard, Key: key, URL: w.server.URL, Log: slog.New(slog.NewTextHandler(&w.log, nil)), Now: w.clock}
	for _, change := range options {
		change(&o)
	}
	s, err := session.New(o)
	must(w.t, err)
	return s
}

func (w *world) clock() time.Time { return w.now }

// answer says at /who who is asking, and takes a form at /act.
func (w *world) answer(rw http.ResponseWriter, r *http.Request) {
	mux := http.NewServeMux()
	w.sessions.Register(mux)
	mux.HandleFunc("/who", func(rw http.ResponseWriter, r *http.Request) {
		who, err := w.guard.Identify(r)
		if err != nil {
			http.Error(rw, err.Error(), http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(rw, who.String()+" "+string(who.Role))
	})
	mux.HandleFunc("GET /form", func(rw http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(rw, w.sessions.FormToken(r)) })
	mux.HandleFunc("POST /act", func(rw http.ResponseWriter, r *http.Request) {
		if err := w.sessions.CheckForm(r); err != nil {
			http.Error(rw, err.Error(), http.StatusForbidden)
		}
	})
	if w.more != nil {
		w.more(mux)
	}
	w.sessions.Renew(mux).ServeHTTP(rw, r)
}

// token is one of a role, in the ledger.
func (w *world) token(role access.Role, expires time.Time) secret.Value {
	w.t.Helper()
	token := access.NewToken(role)
	must(w.t, w.ledger.PutToken(w.t.Context(), ledger.Token{
		ID: "id-" + string(role), Hash: access.Hash(token), Role: string(role), Description: "ada", Created: w.now, Expires: expires,
	}))
	return token
}

// revoke ends a token, in the ledger alone.
func (w *world) revoke(id string) {
	w.t.Helper()
	all, err := w.ledger.Tokens(w.t.Context())
	must(w.t, err)
	for _, one := range all {
		if one.ID == id {
			one.Revoked = w.now
			must(w.t, w.ledger.PutToken(w.t.Context(), one))
		}
	}
}

// browser is somebody's.
type browser struct {
	*world
	client  *http.Client
	headers map[string]string
}

func (w *world) browser() *browser {
	w.t.Helper()
	jar, err := cookiejar.New(nil)
	must(w.t, err)
	client := *w.server.Client()
	client.Jar = jar
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &browser{w, &client, map[string]string{}}
}

// seen is what a browser got.
type seen struct {
	*http.Response
	text string
}

func (b *browser) do(method, address string, form url.Values) seen {
	b.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = b.server.URL + address
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, address, strings.NewReader(form.Encode()))
	must(b.t, err)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range b.headers {
		r.Header.Set(name, value)
	}
	a, err := b.client.Do(r)
	must(b.t, err)
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	must(b.t, err)
	return seen{a, string(text)}
}

func (b *browser) get(address string) seen { b.t.Helper(); return b.do(http.MethodGet, address, nil) }

var formField = regexp.MustCompile(`name="csrf" value="([0-9a-f]+)"`)

// form returns the token of the form on a page.
func (b *browser) form(page string) string {
	b.t.Helper()
	found := formField.FindStringSubmatch(b.get(page).text)
	if found == nil {
		b.t.Fatalf("%s has no form", page)
	}
	return found[1]
}

// signIn shows a token, and returns what the browser got for it.
func (b *browser) signIn(token secret.Value, to string) seen {
	b.t.Helper()
	form := b.form(session.SignInPath)
	return b.do(http.MethodPost, session.SignInPath, url.Values{"csrf": {form}, "token": {token.Reveal()}, "to": {to}})
}

// wantWho fails unless a browser is known as somebody.
func (b *browser) wantWho(want string) {
	b.t.Helper()
	if got := b.get("/who").text; got != want {
		b.t.Errorf("the browser is known as %q, want %q", got, want)
	}
}

// cookie is the one of the session; nil where there is none.
func (b *browser) cookie() *http.Cookie {
	u, _ := url.Parse(b.server.URL)
	for _, c := range b.client.Jar.Cookies(u) {
		if c.Name == "__Host-kalypso-session" {
			return c
		}
	}
	return nil
}

// carry gives a browser a cookie that somebody else had.
func (b *browser) carry(c *http.Cookie) {
	u, _ := url.Parse(b.server.URL)
	b.client.Jar.SetCookies(u, []*http.Cookie{{Name: c.Name, Value: c.Value, Path: "/", Secure: true}})
}

const nobody = "anonymous "

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
