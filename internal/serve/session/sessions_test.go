package session_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/session"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

func TestSignInAndOut(t *testing.T) {
	w := newWorld(t)
	token := w.token(access.Operator, time.Time{})
	b := w.browser()
	b.wantWho(nobody)

	a := b.signIn(token, "/environments/dev?find=x")
	if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/environments/dev?find=x" {
		t.Fatalf("got %s to %q", a.Status, a.Header.Get("Location"))
	}
	b.wantWho("ada (session of token id-operator) operator")
	set := strings.Join(a.Header.Values("Set-Cookie"), "\n")
	for _, want := range []string{"__Host-kalypso-session=", "Path=/", "HttpOnly", "Secure", "SameSite=Lax"} {
		if !strings.Contains(set, want) {
			t.Errorf("the cookie lacks %q: %s", want, set)
		}
	}
	for _, where := range []string{set, w.log.String(), b.get(session.SignInPath).text} {
		if strings.Contains(where, token.Reveal()) || strings.Contains(where, access.Hash(token)) {
			t.Error("the token is told")
		}
	}

	stolen := w.browser()
	stolen.carry(b.cookie())
	if a := b.do(http.MethodPost, session.SignOutPath, url.Values{"csrf": {b.form(session.SignOutPath)}}); a.StatusCode != http.StatusSeeOther {
		t.Fatalf("sign out: got %s", a.Status)
	}
	if b.cookie() != nil {
		t.Error("the cookie stays")
	}
	b.wantWho(nobody)
	stolen.wantWho(nobody)
}

func TestSessionsEnd(t *testing.T) {
	for name, end := range map[string]func(w *world, b *browser){
		"when the token is revoked": func(w *world, _ *browser) {
			w.revoke("id-operator")
			w.guard.Forget()
		},
		"when the token is revoked on another server": func(w *world, _ *browser) {
			w.revoke("id-operator")
			w.now = w.now.Add(access.Freshness)
		},
		"when the token expires":      func(w *world, _ *browser) { w.now = w.now.Add(2 * time.Hour) },
		"when the clock was set back": func(w *world, _ *browser) { w.now = w.now.Add(-time.Hour) },
		"with the key":                func(w *world, _ *browser) { w.replace(w.another(secret.New("another key"))) },
		"when the cookie is changed": func(_ *world, b *browser) {
			c := b.cookie()
			c.Value = strings.Map(func(r rune) rune { return 'A' + (r+1)%26 }, c.Value)
			b.carry(c)
		},
		"when the cookie is cut": func(_ *world, b *browser) { c := b.cookie(); c.Value = c.Value[:20]; b.carry(c) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			b := w.browser()
			b.signIn(w.token(access.Operator, w.now.Add(time.Hour)), "/")
			b.wantWho("ada (session of token id-operator) operator")
			end(w, b)
			b.wantWho(nobody)
		})
	}
}

// replace is a server that was started again, or another one.
func (w *world) replace(s *session.Sessions) {
	w.sessions = s
	w.guard.Others = []access.Authenticator{s}
}

func TestSessionsSurviveARestart(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	b.signIn(w.token(access.Reader, time.Time{}), "/")
	w.replace(w.another(secret.New("the key of the data folder")))
	b.wantWho("ada (session of token id-reader) reader")
}

func TestSigningOutEndsASessionOnEveryServer(t *testing.T) {
	w := newWorld(t)
	onLedger := func(o *session.Options) { o.Ledger = w.ledger }
	key := secret.New("the key of the data folder")
	first, second := w.another(key, onLedger), w.another(key, onLedger)
	w.replace(first)
	b := w.browser()
	b.signIn(w.token(access.Operator, time.Time{}), "/")
	const known = "ada (session of token id-operator) operator"
	stolen := w.browser()
	stolen.carry(b.cookie())
	w.replace(second)
	stolen.wantWho(known)
	w.replace(first)
	b.do(http.MethodPost, session.SignOutPath, url.Values{"csrf": {b.form(session.SignOutPath)}})
	stolen.wantWho(nobody)
	w.replace(second)
	w.now = w.now.Add(access.Freshness)
	stolen.wantWho(nobody)
	w.replace(w.another(key, onLedger)) // one that was just started
	stolen.wantWho(nobody)

	b.signIn(w.token(access.Reader, time.Time{}), "/")
	b.wantWho("ada (session of token id-reader) reader")
	w.replace(w.another(key, func(o *session.Options) { o.Ledger = broken{} }))
	if a := b.get("/who"); !strings.Contains(a.text, "cannot be checked") {
		t.Errorf("while the ledger does not answer: got %q", a.text)
	}
}

// broken is a ledger that does not answer.
type broken struct{}

func (broken) EndSession(context.Context, string, time.Time) error { return errors.New("broken") }

func (broken) SessionEnded(context.Context, string) (bool, error) { return false, errors.New("broken") }

func TestSessionsAreRenewedByPersons(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	b.signIn(w.token(access.Reader, time.Time{}), "/")
	const known = "ada (session of token id-reader) reader"

	b.headers["Sec-Fetch-Mode"] = "navigate"
	for range int(session.Longest/session.Idle)*2 - 1 {
		w.now = w.now.Add(session.Idle / 2)
		b.wantWho(known)
	}
	w.now = w.now.Add(session.Idle / 2)
	b.wantWho(nobody) // longest is longest

	b.signIn(w.token(access.Admin, time.Time{}), "/")
	b.headers["Sec-Fetch-Mode"] = "cors" // a script that brings the page up to date
	w.now = w.now.Add(session.Idle / 2)
	b.wantWho("ada (session of token id-admin) admin")
	w.now = w.now.Add(session.Idle / 2)
	b.wantWho(nobody)
}

func TestSignInRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		form   func(w *world, b *browser) url.Values
		status int
		says   string
	}{
		"an unknown token": {func(_ *world, b *browser) url.Values {
			return url.Values{"csrf": {b.form(session.SignInPath)}, "token": {access.NewToken(access.Admin).Reveal()}}
		}, http.StatusForbidden, "The token is unknown"},
		"no token": {func(_ *world, b *browser) url.Values {
			return url.Values{"csrf": {b.form(session.SignInPath)}}
		}, http.StatusForbidden, "The token is unknown"},
		"the token of a cluster": {func(w *world, b *browser) url.Values {
			return url.Values{"csrf": {b.form(session.SignInPath)}, "token": {w.token(access.Join, time.Time{}).Reveal()}}
		}, http.StatusForbidden, "the token of a cluster"},
		"a form without its token": {func(w *world, b *browser) url.Values {
			b.form(session.SignInPath)
			return url.Values{"token": {w.token(access.Admin, time.Time{}).Reveal()}}
		}, http.StatusForbidden, "The form has expired"},
		"the form of another browser": {func(w *world, b *browser) url.Values {
			b.form(session.SignInPath)
			return url.Values{"csrf": {w.browser().form(session.SignInPath)}, "token": {w.token(access.Admin, time.Time{}).Reveal()}}
		}, http.StatusForbidden, "The form has expired"},
		"an old form": {func(w *world, b *browser) url.Values {
			form := b.form(session.SignInPath)
			w.now = w.now.Add(time.Hour)
			return url.Values{"csrf": {form}, "token": {w.token(access.Admin, time.Time{}).Reveal()}}
		}, http.StatusForbidden, "The form has expired"},
		"a page of another site": {func(w *world, b *browser) url.Values {
			form := b.form(session.SignInPath)
			b.headers["Sec-Fetch-Site"] = "cross-site"
			return url.Values{"csrf": {form}, "token": {w.token(access.Admin, time.Time{}).Reveal()}}
		}, http.StatusForbidden, "The form has expired"},
		"who tries too often": {func(_ *world, b *browser) url.Values {
			for range 20 {
				b.signIn(access.NewToken(access.Admin), "/")
			}
			return url.Values{"csrf": {b.form(session.SignInPath)}, "token": {access.NewToken(access.Admin).Reveal()}}
		}, http.StatusTooManyRequests, "Too many invalid tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			b := w.browser()
			a := b.do(http.MethodPost, session.SignInPath, tc.form(w, b))
			if a.StatusCode != tc.status || !strings.Contains(a.text, tc.says) {
				t.Errorf("got %s, want %d and %q:\n%s", a.Status, tc.status, tc.says, a.text)
			}
			b.headers = nil
			if b.cookie() != nil {
				t.Error("a session began")
			}
			b.wantWho(nobody)
		})
	}
}

func TestForms(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	b.signIn(w.token(access.Operator, time.Time{}), "/")
	other := w.browser()
	other.signIn(w.token(access.Reader, time.Time{}), "/")
	own := b.get("/form").text
	for name, tc := range map[string]struct {
		token, site, origin string
		status              int
	}{
		"its own":                         {token: own, status: http.StatusOK},
		"its own, sent from here":         {token: own, site: "same-origin", status: http.StatusOK},
		"none":                            {status: http.StatusForbidden},
		"another session's":               {token: other.get("/form").text, status: http.StatusForbidden},
		"its own, sent from another site": {token: own, site: "cross-site", status: http.StatusForbidden},
		"its own, by an old browser":      {token: own, origin: "https://evil.example.com", status: http.StatusForbidden},
	} {
		b.headers = map[string]string{"Sec-Fetch-Site": tc.site, "Origin": tc.origin}
		if a := b.do(http.MethodPost, "/act", url.Values{"csrf": {tc.token}}); a.StatusCode != tc.status {
			t.Errorf("%s: got %s, want %d", name, a.Status, tc.status)
		}
	}
	nobodys := w.browser()
	if a := nobodys.do(http.MethodPost, "/act", url.Values{"csrf": {""}}); a.StatusCode != http.StatusForbidden {
		t.Errorf("who is not signed in: got %s", a.Status)
	}
}

// TestSignOutRefusesOthersForms: nobody is signed out by a page of another site.
func TestSignOutRefusesOthersForms(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	b.signIn(w.token(access.Operator, time.Time{}), "/")
	b.do(http.MethodPost, session.SignOutPath, url.Values{})
	b.wantWho("ada (session of token id-operator) operator")
}

func TestSignInGoesOnlyToThisServer(t *testing.T) {
	w := newWorld(t)
	token := w.token(access.Reader, time.Time{})
	for to, want := range map[string]string{
		"":                             "/",
		"/clusters?state=behind#x":     "/clusters?state=behind#x",
		"https://evil.example.com/":    "/",
		"//evil.example.com/":          "/",
		"/\\evil.example.com":          "/",
		"\\\\evil.example.com":         "/",
		"/%5Cevil.example.com":         "/",
		"/\t/evil.example.com":         "/",
		"javascript:alert(1)":          "/",
		"clusters":                     "/",
		"/-/sign-out":                  "/",
		"/a\r\nSet-Cookie: x=y":        "/",
		"/" + strings.Repeat("x", 1e4): "/",
	} {
		b := w.browser()
		a := b.signIn(token, to)
		if got := a.Header.Get("Location"); a.StatusCode != http.StatusSeeOther || got != want {
			t.Errorf("%.40q: got %s to %q, want %q", to, a.Status, got, want)
		}
	}
}

func TestPagesQuoteNothing(t *testing.T) {
	w := newWorld(t)
	a := w.browser().get(session.SignInPath + "?to=" + url.QueryEscape(`/x"><script>alert(1)</script>`))
	if strings.Contains(a.text, "<script") {
		t.Error("it is a script now")
	}
	for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(a.Header.Get("Content-Security-Policy"), want) {
			t.Errorf("the policy lacks %q", want)
		}
	}
	if a.Header.Get("Cache-Control") != "no-store" {
		t.Error("the page with a form's token is kept")
	}
}

// TestCookieOfPlainHTTP: servers at several ports of one machine do not take each other's cookies.
func TestCookieOfPlainHTTP(t *testing.T) {
	w := newWorld(t)
	names := map[string]bool{}
	for _, key := range []string{"one", "two"} {
		s := w.another(secret.New(key), func(o *session.Options) { o.URL = "http://127.0.0.1:8080" })
		a := newRecorder(s.Handler(), session.SignInPath)
		c := a.Result().Cookies()[0]
		if c.Secure || !c.HttpOnly {
			t.Errorf("got %v", c)
		}
		names[c.Name] = true
	}
	if len(names) != 2 {
		t.Errorf("they are called the same: %v", names)
	}
}

func TestNewWantsWhatItNeeds(t *testing.T) {
	w := newWorld(t)
	for _, o := range []session.Options{
		{}, {Guard: w.guard, Log: w.sessions.Log, URL: w.server.URL}, {Guard: w.guard, Log: w.sessions.Log, Key: secret.New("k"), URL: "nowhere"},
	} {
		if _, err := session.New(o); err == nil {
			t.Errorf("%v: no error", o)
		}
	}
}
