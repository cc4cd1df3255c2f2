package access_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/serve/access"
)

const audience = "kalypso"

// issuer is an OpenID Connect issuer with real keys. Clients reach it as a transport, without a network.
type issuer struct {
	t      *testing.T
	url    string
	server *oidctest.Server
	away   atomic.Bool
	key    *ecdsa.PrivateKey
	keyID  string
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{t: t, url: "https://issuer.example.com", server: &oidctest.Server{Algorithms: []string{oidc.ES256}}}
	i.rotate("one")
	i.server.SetIssuer(i.url)
	return i
}

func (i *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if i.away.Load() {
		http.Error(w, "away", http.StatusBadGateway)
	} else {
		i.server.ServeHTTP(w, r)
	}
	return w.Result(), nil
}

// rotate replaces the key by a new one.
func (i *issuer) rotate(id string) {
	i.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		i.t.Fatal(err)
	}
	i.key, i.keyID = key, id
	i.server.PublicKeys = []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: id, Algorithm: oidc.ES256}}
}

// claims are those of a good token, with some replaced.
func (i *issuer) claims(g *gate, replaced map[string]any) string {
	all := map[string]any{
		"iss": i.url, "aud": audience, "sub": "248289761001", "exp": g.now.Add(time.Hour).Unix(), "iat": g.now.Unix(),
		"email": "ada@example.com", "email_verified": true, "groups": []string{"staff", "platform"},
	}
	for name, value := range replaced {
		all[name] = value
	}
	text, err := json.Marshal(all)
	if err != nil {
		i.t.Fatal(err)
	}
	return string(text)
}

func (i *issuer) token(g *gate, replaced map[string]any) string {
	return oidctest.SignIDToken(i.key, i.keyID, oidc.ES256, i.claims(g, replaced))
}

func newSignOn(t *testing.T) (*gate, *issuer) {
	t.Helper()
	g, i := newGate(t), newIssuer(t)
	g.SignOn = &access.SignOn{
		Issuer: i.url, Audience: audience, Client: &http.Client{Transport: i}, Now: func() time.Time { return g.now },
		Roles: map[string]access.Role{"staff": access.Reader, "platform": access.Operator, "root": access.Admin},
	}
	return g, i
}

func TestSignOn(t *testing.T) {
	g, i := newSignOn(t)
	for name, tc := range map[string]struct {
		replaced map[string]any
		want     access.Identity
	}{
		"the group that may do most": {nil, access.Identity{Name: "ada@example.com", Role: access.Operator, Groups: []string{"platform", "staff"}}},
		"one group, as a text":       {map[string]any{"groups": "root"}, access.Identity{Name: "ada@example.com", Role: access.Admin, Groups: []string{"root"}}},
		"unknown groups":             {map[string]any{"groups": []string{"sales"}}, access.Identity{Name: "ada@example.com"}},
		"no groups":                  {map[string]any{"groups": nil}, access.Identity{Name: "ada@example.com"}},
		"groups of another shape":    {map[string]any{"groups": []any{1, map[string]any{"root": true}, []string{"root"}}}, access.Identity{Name: "ada@example.com"}},
		"an unverified address":      {map[string]any{"email_verified": false}, access.Identity{Name: "248289761001", Role: access.Operator, Groups: []string{"platform", "staff"}}},
		"several audiences":          {map[string]any{"aud": []string{"other", audience}}, access.Identity{Name: "ada@example.com", Role: access.Operator, Groups: []string{"platform", "staff"}}},
		"a name with controls":       {map[string]any{"email": "ada\x1b[31m\nroot"}, access.Identity{Name: "ada [31m root", Role: access.Operator}},
	} {
		tc.want.Source, tc.want.Expires, tc.want.Address = access.BySignOn, g.now.Add(time.Hour), "192.0.2.1"
		got, err := g.Identify(request(i.token(g, tc.replaced)))
		got.Expires = got.Expires.UTC()
		if strings.Contains(name, "controls") {
			if strings.ContainsAny(got.Name, "\x1b\n") {
				t.Errorf("%s: got %q", name, got.Name)
			}
			continue
		}
		got.Claimed = nil // also those without a role; see TestGrantsComeFromGroupsOnly
		if diff := cmp.Diff(got, tc.want); err != nil || diff != "" {
			t.Errorf("%s: error %v, got -, want +:\n%s", name, err, diff)
		}
	}
}

func TestNameClaim(t *testing.T) {
	g, i := newSignOn(t)
	g.SignOn.NameClaim = "preferred_username"
	who, err := g.Identify(request(i.token(g, map[string]any{"preferred_username": "ada"})))
	if err != nil || who.Name != "ada" {
		t.Errorf("got %v, %v", who, err)
	}
	// The first token has this name, also in the audit trail.
	who, err = g.Identify(request(i.token(g, map[string]any{"preferred_username": "Admin"})))
	if err != nil || !strings.HasPrefix(who.Name, "Admin@") {
		t.Errorf("got %v, %v", who, err)
	}
}

func TestForgedTokens(t *testing.T) {
	g, i := newSignOn(t)
	stranger := newIssuer(t)
	good := i.token(g, nil)
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	parts := strings.Split(good, ".")
	for name, token := range map[string]string{
		"expired":             i.token(g, map[string]any{"exp": g.now.Add(-time.Minute).Unix()}),
		"without an end":      i.token(g, map[string]any{"exp": nil}),
		"not yet valid":       i.token(g, map[string]any{"nbf": g.now.Add(time.Hour).Unix()}),
		"issued in an hour":   i.token(g, map[string]any{"iat": g.now.Add(time.Hour).Unix(), "exp": g.now.Add(2 * time.Hour).Unix()}),
		"another audience":    i.token(g, map[string]any{"aud": "other"}),
		"no audience":         i.token(g, map[string]any{"aud": nil}),
		"another issuer":      i.token(g, map[string]any{"iss": "https://other.example.com"}),
		"a stranger's key":    stranger.token(g, map[string]any{"iss": i.url}),
		"alg none":            part(`{"alg":"none"}`) + "." + part(i.claims(g, nil)) + ".",
		"alg none, signed":    part(`{"alg":"none","kid":"one"}`) + "." + parts[1] + "." + parts[2],
		"the key as a secret": hmacToken(t, i.key.Public(), i.claims(g, nil)),
		"other claims":        parts[0] + "." + part(i.claims(g, map[string]any{"groups": "root"})) + "." + parts[2],
		"no JSON":             parts[0] + "." + part("claims") + "." + parts[2],
		"empty parts":         "ey..",
	} {
		g.now = g.now.Add(time.Minute) // that the limit of failures is none
		r := g.refusal(request(token))
		if !errors.Is(r, access.ErrUnauthenticated) || strings.Contains(r.Error(), parts[2]) {
			t.Errorf("%s: got %v", name, r)
		}
	}
}

// hmacToken is signed with the public key as if it were a secret, which verifiers fall for that believe the header.
func hmacToken(t *testing.T, key crypto.PublicKey, claims string) string {
	t.Helper()
	text, err := json.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	return oidctest.SignIDToken(text, "one", "HS256", claims)
}

func TestKeysAreRotated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, i := newSignOn(t)
		before := i.token(g, nil)
		if err := g.settled(before); err != nil {
			t.Fatal(err)
		}
		i.rotate("two")
		if err := g.settled(i.token(g, nil)); err != nil {
			t.Errorf("a token of the new key: %v", err)
		}
		g.now = g.now.Add(access.Freshness)
		if err := g.settled(before); !errors.Is(err, access.ErrUnauthenticated) {
			t.Errorf("a token of the old key: %v", err)
		}
	})
}

func TestIssuerAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, i := newSignOn(t)
		i.away.Store(true)
		token := i.token(g, nil)
		if err := g.settled(token); !errors.Is(err, access.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
		opaque, _ := g.create(access.TokenRequest{Name: "ci", Role: access.Reader})
		if err := g.settled(opaque); err != nil {
			t.Errorf("tokens of the ledger do not need it: %v", err)
		}
		i.away.Store(false)
		if err := g.settled(token); !errors.Is(err, access.ErrUnavailable) {
			t.Errorf("asked again at once: %v", err)
		}
		g.now = g.now.Add(time.Minute)
		if err := g.settled(token); err != nil {
			t.Errorf("back: %v", err)
		}
		i.away.Store(true)
		i.rotate("two")
		if err := g.settled(i.token(g, nil)); !errors.Is(err, access.ErrUnavailable) {
			t.Errorf("away while keys are rotated: %v", err)
		}
	})
}

// settled identifies the owner of a token, and waits until nothing happens any more: the library that verifies tokens returns
// the result of a request for keys before it stores the keys.
func (g *gate) settled(token string) error {
	_, err := g.Identify(request(token))
	synctest.Wait()
	return err
}
