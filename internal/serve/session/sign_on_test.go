package session_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/session"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// issuer signs everybody in as ada, and keeps to the rules of the authorization code flow with PKCE.
type issuer struct {
	t      *testing.T
	url    string
	server *oidctest.Server
	key    *ecdsa.PrivateKey
	world  *world
	// asked is what the browser came with, and claims what is said instead of what is right.
	asked  url.Values
	claims map[string]any
	away   bool
}

const clientSecret = "the secret of the client"

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	i := &issuer{t: t, key: key, claims: map[string]any{}, server: &oidctest.Server{
		Algorithms: []string{oidc.ES256}, PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "one", Algorithm: oidc.ES256}},
	}}
	h := httptest.NewServer(http.HandlerFunc(i.answer))
	t.Cleanup(h.Close)
	i.url = h.URL
	i.server.SetIssuer(h.URL)
	return i
}

func (i *issuer) answer(w http.ResponseWriter, r *http.Request) {
	switch {
	case i.away:
		http.Error(w, "away", http.StatusBadGateway)
	case r.URL.Path == "/token":
		i.token(w, r)
	default:
		i.server.ServeHTTP(w, r)
	}
}

// token gives an ID token for the code, to who knows what only the server knows.
func (i *issuer) token(w http.ResponseWriter, r *http.Request) {
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	id, password, basic := r.BasicAuth()
	if !basic {
		id, password = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	password, _ = url.QueryUnescape(password)
	w.Header().Set("Content-Type", "application/json")
	if r.PostFormValue("code") != "the code" || base64.RawURLEncoding.EncodeToString(sum[:]) != i.asked.Get("code_challenge") ||
		i.asked.Get("code_challenge_method") != "S256" || r.PostFormValue("redirect_uri") != i.asked.Get("redirect_uri") ||
		id != "kalypso" || password != clientSecret {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error": "invalid_grant", "error_description": "` + clientSecret + `"}`))
		return
	}
	now := i.world.now
	claims := map[string]any{
		"iss": i.url, "aud": "kalypso", "sub": "1", "exp": now.Add(time.Minute).Unix(), "iat": now.Unix(), "nonce": i.asked.Get("nonce"),
		"email": "ada@example.com", "email_verified": true, "groups": []string{"platform"},
	}
	for name, value := range i.claims {
		claims[name] = value
	}
	text, err := json.Marshal(claims)
	if err != nil {
		i.t.Error(err)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"access_token": "access", "token_type": "Bearer", "id_token": oidctest.SignIDToken(i.key, "one", oidc.ES256, string(text)),
	})
}

// signOnWorld is a world with an issuer.
func signOnWorld(t *testing.T) (*world, *issuer) {
	t.Helper()
	i := newIssuer(t)
	w := newWorld(t, i.option())
	i.world = w
	return w, i
}

func (i *issuer) option() option {
	return func(o *session.Options) {
		o.SignOn = &access.SignOn{
			Issuer: i.url, Audience: "kalypso", Roles: map[string]access.Role{"platform": access.Operator},
			Client: http.DefaultClient, Now: func() time.Time { return i.world.now },
		}
		o.ClientSecret = secret.New(clientSecret)
	}
}

// ask sends a browser to the issuer, and returns where that sends it back to.
func (i *issuer) ask(b *browser, to string) string {
	i.t.Helper()
	a := b.get("/-/sign-on?to=" + url.QueryEscape(to))
	address, err := url.Parse(a.Header.Get("Location"))
	must(i.t, err)
	if a.StatusCode != http.StatusSeeOther || !strings.HasPrefix(address.String(), i.url) {
		i.t.Fatalf("got %s to %s", a.Status, address)
	}
	i.asked = address.Query()
	return i.asked.Get("redirect_uri") + "?" + url.Values{"code": {"the code"}, "state": {i.asked.Get("state")}}.Encode()
}

func TestSignOn(t *testing.T) {
	w, i := signOnWorld(t)
	b := w.browser()
	a := b.get(i.ask(b, "/clusters"))
	if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/clusters" {
		t.Fatalf("got %s to %q: %s", a.Status, a.Header.Get("Location"), a.text)
	}
	b.wantWho("ada@example.com (session) operator")
	if strings.Contains(w.log.String(), clientSecret) {
		t.Error("the secret of the client is in the log")
	}
	w.now = w.now.Add(session.LongestSignOn)
	b.wantWho(nobody)
}

func TestSignOnRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		bring  func(w *world, i *issuer, b *browser) (address string)
		status int
		says   string
	}{
		"another state": {func(_ *world, i *issuer, b *browser) string {
			return strings.Replace(i.ask(b, "/"), "state=", "state=0", 1)
		}, http.StatusForbidden, "started in another browser"},
		"what another browser began": {func(w *world, i *issuer, _ *browser) string { return i.ask(w.browser(), "/") }, http.StatusForbidden, "started in another browser"},
		"what took too long": {func(w *world, i *issuer, b *browser) string {
			to := i.ask(b, "/")
			w.now = w.now.Add(11 * time.Minute)
			return to
		}, http.StatusForbidden, "took too long"},
		"what was used": {func(_ *world, i *issuer, b *browser) string {
			to := i.ask(b, "/")
			b.get(to)
			b.client.Jar = b.world.browser().client.Jar
			return to
		}, http.StatusForbidden, "started in another browser"},
		"another nonce": {func(_ *world, i *issuer, b *browser) string {
			i.claims["nonce"] = "another"
			return i.ask(b, "/")
		}, http.StatusForbidden, "not from the configured issuer"},
		"another audience": {func(_ *world, i *issuer, b *browser) string {
			i.claims["aud"] = "another"
			return i.ask(b, "/")
		}, http.StatusForbidden, "not from the configured issuer"},
		"another code": {func(_ *world, i *issuer, b *browser) string {
			return strings.Replace(i.ask(b, "/"), "code=the", "code=another", 1)
		}, http.StatusForbidden, "did not sign you in"},
		"who declined": {func(_ *world, i *issuer, b *browser) string {
			i.ask(b, "/")
			return "/-/sign-on/done?error=access_denied&state=" + i.asked.Get("state")
		}, http.StatusForbidden, "did not sign you in"},
		"another issuer": {func(_ *world, i *issuer, b *browser) string {
			return i.ask(b, "/") + "&iss=https%3A%2F%2Fevil.example.com"
		}, http.StatusForbidden, "did not sign you in"},
		"who has no role": {func(_ *world, i *issuer, b *browser) string {
			i.claims["groups"] = "staff"
			return i.ask(b, "/")
		}, http.StatusForbidden, "has no role here"},
		"an issuer that is away": {func(_ *world, i *issuer, b *browser) string {
			to := i.ask(b, "/")
			i.away = true
			return to
		}, http.StatusServiceUnavailable, "does not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			w, i := signOnWorld(t)
			b := w.browser()
			a := b.get(tc.bring(w, i, b))
			if a.StatusCode != tc.status || !strings.Contains(a.text, tc.says) {
				t.Errorf("got %s, want %d and %q:\n%s", a.Status, tc.status, tc.says, a.text)
			}
			b.wantWho(nobody)
			if strings.Contains(w.log.String()+a.text, clientSecret) {
				t.Error("the secret of the client is told")
			}
		})
	}
}

// TestSignOnEndsWithItsConfiguration: a group that has no role any more has no session any more.
func TestSignOnEndsWithItsConfiguration(t *testing.T) {
	w, i := signOnWorld(t)
	b := w.browser()
	b.get(i.ask(b, "/"))
	b.wantWho("ada@example.com (session) operator")
	key := secret.New("the key of the data folder")
	w.replace(w.another(key, i.option(), func(o *session.Options) { o.SignOn.Roles = map[string]access.Role{"platform": access.Reader} }))
	b.wantWho(nobody)
	w.replace(w.another(key))
	b.wantWho(nobody)
}

// TestTypedTokenOfIssuer: who has a token of the issuer may type it in as any other.
func TestTypedTokenOfIssuer(t *testing.T) {
	w, i := signOnWorld(t)
	w.guard.SignOn = w.sessions.SignOn
	text, err := json.Marshal(map[string]any{
		"iss": i.url, "aud": "kalypso", "sub": "1", "exp": w.now.Add(time.Minute).Unix(), "iat": w.now.Unix(),
		"email": "ada@example.com", "email_verified": true, "groups": "platform",
	})
	must(t, err)
	b := w.browser()
	b.signIn(secret.New(oidctest.SignIDToken(i.key, "one", oidc.ES256, string(text))), "/")
	b.wantWho("ada@example.com (session) operator")
	w.now = w.now.Add(time.Minute)
	b.wantWho(nobody)
}

func newRecorder(h http.Handler, path string) *httptest.ResponseRecorder {
	a := httptest.NewRecorder()
	h.ServeHTTP(a, httptest.NewRequest(http.MethodGet, path, nil))
	return a
}
