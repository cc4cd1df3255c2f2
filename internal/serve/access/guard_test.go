package access_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// gate is a guard over a real ledger, with a clock of its own.
type gate struct {
	*access.Guard
	t      *testing.T
	ledger *sqlite.Ledger
	now    time.Time
}

func newGate(t *testing.T) *gate {
	t.Helper()
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	g := &gate{t: t, ledger: l, now: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)}
	g.Guard = &access.Guard{Store: l, Now: func() time.Time { return g.now }}
	return g
}

func (g *gate) tokens() access.Tokens { return access.Tokens{Store: g.ledger, Guard: g.Guard} }

// create makes a token, and returns it as it is sent.
func (g *gate) create(w access.TokenRequest) (token, id string) {
	g.t.Helper()
	value, stored, err := g.tokens().Create(g.t.Context(), w, access.Identity{Name: "ada", Source: access.BySignOn})
	if err != nil {
		g.t.Fatal(err)
	}
	return value.Reveal(), stored.ID
}

func request(token string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "http://kalypso.example.com/", nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

func (g *gate) refusal(r *http.Request) *access.Refusal {
	g.t.Helper()
	who, err := g.Identify(r)
	var refusal *access.Refusal
	if !errors.As(err, &refusal) {
		g.t.Fatalf("got %v and error %v, want a refusal", who, err)
	}
	return refusal
}

func TestTokensOfEachRole(t *testing.T) {
	g := newGate(t)
	for _, role := range []access.Role{access.Reader, access.Operator, access.Admin} {
		token, id := g.create(access.TokenRequest{Name: "someone", Role: role})
		got, err := g.Identify(request(token))
		want := access.Identity{Name: "someone", Role: role, Source: access.ByToken, Token: id, Address: "192.0.2.1"}
		if diff := cmp.Diff(got, want); err != nil || diff != "" {
			t.Errorf("%s: error %v, got -, want +:\n%s", role, err, diff)
		}
	}
}

func TestJoinToken(t *testing.T) {
	g := newGate(t)
	token := access.NewToken(access.Join)
	stored := ledger.Token{ID: "j1", Hash: access.Hash(token), Role: "join", Scope: `{"memberships":[]}`, Created: g.now}
	if err := g.ledger.PutToken(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	got, err := g.Identify(request(token.Reveal()))
	want := access.Identity{Name: "j1", Role: access.Join, Source: access.ByToken, Token: "j1", Scope: stored.Scope, Address: "192.0.2.1"}
	if diff := cmp.Diff(got, want); err != nil || diff != "" {
		t.Errorf("error %v, got -, want +:\n%s", err, diff)
	}
}

func TestCredentialOfCluster(t *testing.T) {
	g := newGate(t)
	credential := access.NewToken(access.Cluster)
	registration := ledger.Registration{Cluster: "large-07", CredentialHash: access.Hash(credential), At: g.now}
	if err := g.ledger.Register(t.Context(), registration); err != nil {
		t.Fatal(err)
	}
	got, err := g.Identify(request(credential.Reveal()))
	want := access.Identity{Name: "large-07", Role: access.Cluster, Source: access.ByCluster, Cluster: "large-07", Address: "192.0.2.1"}
	if diff := cmp.Diff(got, want); err != nil || diff != "" {
		t.Errorf("error %v, got -, want +:\n%s", err, diff)
	}
	registration.Revoked, registration.At = true, g.now.Add(time.Second)
	if err := g.ledger.Register(t.Context(), registration); err != nil {
		t.Fatal(err)
	}
	g.Forget()
	if r := g.refusal(request(credential.Reveal())); !errors.Is(r, access.ErrUnauthenticated) {
		t.Errorf("revoked: %v", r)
	}
}

func TestTokensThatEnd(t *testing.T) {
	g := newGate(t)
	t.Run("revoked here", func(t *testing.T) {
		token, id := g.create(access.TokenRequest{Name: "ci", Role: access.Operator})
		if _, err := g.Identify(request(token)); err != nil {
			t.Fatal(err)
		}
		if _, err := g.tokens().Revoke(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if r := g.refusal(request(token)); !errors.Is(r, access.ErrUnauthenticated) || !strings.Contains(r.What, "revoked") {
			t.Errorf("got %v", r)
		}
	})
	t.Run("revoked on another server", func(t *testing.T) {
		token, id := g.create(access.TokenRequest{Name: "ci", Role: access.Operator})
		if _, err := g.Identify(request(token)); err != nil {
			t.Fatal(err)
		}
		other := access.Tokens{Store: g.ledger, Guard: &access.Guard{Store: g.ledger}}
		if _, err := other.Revoke(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		g.now = g.now.Add(access.Freshness)
		if r := g.refusal(request(token)); !strings.Contains(r.What, "revoked") {
			t.Errorf("got %v", r)
		}
	})
	t.Run("expired while it is remembered", func(t *testing.T) {
		token, _ := g.create(access.TokenRequest{Name: "ci", Role: access.Operator, Expires: g.now.Add(2 * time.Second)})
		if _, err := g.Identify(request(token)); err != nil {
			t.Fatal(err)
		}
		g.now = g.now.Add(2 * time.Second)
		if r := g.refusal(request(token)); !strings.Contains(r.What, "expired") {
			t.Errorf("got %v", r)
		}
	})
}

// slowStore lets a test do something between the answer of the ledger and its arrival.
type slowStore struct {
	access.Store
	answered func()
}

func (s slowStore) TokenByHash(ctx context.Context, hash string) (ledger.Token, error) {
	t, err := s.Store.TokenByHash(ctx, hash)
	s.answered()
	return t, err
}

// TestRevokedWhileAsked: what was valid when the ledger was asked, and revoked before the answer was remembered, ends as well.
func TestRevokedWhileAsked(t *testing.T) {
	g := newGate(t)
	token, id := g.create(access.TokenRequest{Name: "ci", Role: access.Operator})
	g.Store = slowStore{g.ledger, func() {
		if _, err := g.tokens().Revoke(context.Background(), id); err != nil {
			t.Error(err)
		}
	}}
	if _, err := g.Identify(request(token)); err != nil {
		t.Fatal(err)
	}
	g.Store = g.ledger
	g.refusal(request(token))
}

func TestWhatIsNoToken(t *testing.T) {
	g := newGate(t)
	asked := false
	g.Store = slowStore{g.ledger, func() { asked = true }}
	token, _ := g.create(access.TokenRequest{Name: "ci", Role: access.Reader})
	for name, header := range map[string]string{
		"another scheme":   "Basic YWRhOmxvdmVsYWNl",
		"nothing":          "Bearer ",
		"no scheme":        token,
		"another role":     "Bearer kal_a_" + token[6:],
		"mistyped":         "Bearer " + token[:20] + "a" + token[20:],
		"cut off":          "Bearer " + token[:len(token)-1],
		"only a prefix":    "Bearer kal_",
		"very long":        "Bearer " + strings.Repeat("x", 1<<20),
		"no role":          "Bearer kal__" + token[6:],
		"controls":         "Bearer \x1b[31mkal_r_\x00",
		"upper case":       "Bearer " + strings.ToUpper(token),
		"with a character": "Bearer kal_r_é" + token[6:],
	} {
		r := request("")
		r.Header["Authorization"] = []string{header}
		refusal := g.refusal(r)
		if !errors.Is(refusal, access.ErrUnauthenticated) || !refusal.Shown {
			t.Errorf("%s: got %+v", name, refusal)
		}
		if asked && name != "very long" && name != "upper case" && name != "controls" {
			t.Errorf("%s: the ledger was asked", name)
		}
		asked = false
	}
	two := request(token)
	two.Header.Add("Authorization", "Bearer "+token)
	g.refusal(two)
}

func TestFailuresAreLimitedByAddress(t *testing.T) {
	g := newGate(t)
	good, _ := g.create(access.TokenRequest{Name: "ci", Role: access.Reader})
	if _, err := g.Identify(request(good)); err != nil {
		t.Fatal(err)
	}
	var last *access.Refusal
	for i := range 21 {
		last = g.refusal(request(access.NewToken(access.Admin).Reveal()))
		if i < 20 && !errors.Is(last, access.ErrUnauthenticated) {
			t.Fatalf("attempt %d: %v", i, last)
		}
	}
	if !errors.Is(last, access.ErrTooMany) || last.RetryAfter <= 0 {
		t.Fatalf("got %+v, want too many attempts and when to try again", last)
	}
	g.now = g.now.Add(2 * access.Freshness / 5)
	if _, err := g.Identify(request(good)); err != nil {
		t.Errorf("who was in before, behind the same address: %v", err)
	}
	elsewhere := request(access.NewToken(access.Admin).Reveal())
	elsewhere.RemoteAddr = "198.51.100.7:1234"
	if r := g.refusal(elsewhere); !errors.Is(r, access.ErrUnauthenticated) {
		t.Errorf("another address: %v", r)
	}
	g.now = g.now.Add(last.RetryAfter)
	if r := g.refusal(request(access.NewToken(access.Admin).Reveal())); !errors.Is(r, access.ErrUnauthenticated) {
		t.Errorf("after waiting: %v", r)
	}
}

func TestAnonymous(t *testing.T) {
	g := newGate(t)
	for _, tc := range []struct {
		policy       access.AnonymousRead
		remote, host string
		header       string
		want         access.Role
	}{
		{access.AnonymousNever, "127.0.0.1:9", "localhost:8080", "", ""},
		{access.AnonymousAlways, "198.51.100.7:9", "kalypso.example.com", "", access.Reader},
		{access.AnonymousLocal, "127.0.0.1:9", "localhost:8080", "", access.Reader},
		{access.AnonymousLocal, "127.0.0.1:9", "127.0.0.1", "", access.Reader},
		{access.AnonymousLocal, "[::1]:9", "[::1]:8080", "", access.Reader},
		{access.AnonymousLocal, "[::1]:9", "[::1]", "", access.Reader},
		{access.AnonymousLocal, "198.51.100.7:9", "localhost:8080", "", ""},
		{access.AnonymousLocal, "127.0.0.1:9", "rebound.example.com:8080", "", ""},
		{access.AnonymousLocal, "127.0.0.1:9", "localhost:8080", "X-Forwarded-For", ""},
		{access.AnonymousLocal, "127.0.0.1:9", "localhost:8080", "Forwarded", ""},
	} {
		g.Anonymous = tc.policy
		r := request("")
		r.RemoteAddr, r.Host = tc.remote, tc.host
		if tc.header != "" {
			r.Header.Set(tc.header, "127.0.0.1")
		}
		got, err := g.Identify(r)
		if err != nil || got.Role != tc.want || got.Source != access.Anonymous {
			t.Errorf("%+v: got %+v, error %v", tc, got, err)
		}
	}
	r := request("kal_not-a-token")
	r.RemoteAddr, r.Host = "127.0.0.1:9", "localhost"
	g.Anonymous = access.AnonymousAlways
	g.refusal(r)
}

// session is a way of showing who one is that is not a bearer token.
type session struct{ err error }

func (s session) Authenticate(r *http.Request) (access.Identity, bool, error) {
	_, err := r.Cookie("session")
	return access.Identity{Name: "ada", Role: access.Operator, Source: access.BySession}, err == nil, s.err
}

func TestOtherAuthenticators(t *testing.T) {
	g := newGate(t)
	g.Others = []access.Authenticator{session{}}
	r := request("")
	if who, err := g.Identify(r); err != nil || who.Source != access.Anonymous {
		t.Errorf("without a session: %v, %v", who, err)
	}
	r.AddCookie(&http.Cookie{Name: "session", Value: "x"})
	if who, err := g.Identify(r); err != nil || who.Name != "ada" {
		t.Errorf("with a session: %v, %v", who, err)
	}
	g.Others = []access.Authenticator{session{&access.Refusal{Kind: access.ErrUnauthenticated, What: "ended"}}}
	g.refusal(r)
}

type brokenStore struct{ access.Store }

func (brokenStore) TokenByHash(context.Context, string) (ledger.Token, error) {
	return ledger.Token{}, errors.New("disk: on fire at /var/lib/secret")
}

func TestLedgerAway(t *testing.T) {
	g := newGate(t)
	g.Store = brokenStore{g.ledger}
	r := g.refusal(request(access.NewToken(access.Reader).Reveal()))
	if !errors.Is(r, access.ErrUnavailable) || strings.Contains(r.Error(), "fire") {
		t.Errorf("got %v", r)
	}
}

func TestBootstrap(t *testing.T) {
	g := newGate(t)
	forge := secret.New("kalypso_made-by-the-local-forge")
	token, err := access.Bootstrap(t.Context(), g.ledger, forge, g.now)
	if err != nil || token.Reveal() != forge.Reveal() {
		t.Fatalf("got error %v and another token than the existing one", err)
	}
	if who, err := g.Identify(request(token.Reveal())); err != nil || who.Role != access.Admin {
		t.Errorf("got %v, %v", who, err)
	}
	again, err := access.Bootstrap(t.Context(), g.ledger, secret.Value{}, g.now)
	if err != nil || !again.IsZero() {
		t.Errorf("a second token was made, error %v", err)
	}
	fresh, err := access.Bootstrap(t.Context(), newGate(t).ledger, secret.Value{}, g.now)
	if err != nil || !strings.HasPrefix(fresh.Reveal(), "kal_a_") {
		t.Errorf("without an existing one: error %v", err)
	}
}

func TestTokensAreNotRevealed(t *testing.T) {
	g := newGate(t)
	token, _ := g.create(access.TokenRequest{Name: "ci", Role: access.Admin})
	all, err := g.tokens().List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, wrong := g.Identify(request(token + "a"))
	for _, text := range []string{fmt.Sprintf("%+v", all), fmt.Sprint(wrong), fmt.Sprintf("%+v", wrong)} {
		if strings.Contains(text, token[:12]) {
			t.Errorf("it is in %q", text)
		}
	}
}

func TestTokensThatAreNotMade(t *testing.T) {
	g := newGate(t)
	for name, w := range map[string]access.TokenRequest{
		"without a name": {Role: access.Reader},
		"two lines":      {Name: "a\nb", Role: access.Reader},
		"too long":       {Name: strings.Repeat("x", 200), Role: access.Reader},
		"no role":        {Name: "ci"},
		"unknown role":   {Name: "ci", Role: "root"},
		"of a cluster":   {Name: "ci", Role: access.Cluster},
		"to join":        {Name: "ci", Role: access.Join},
		"expired":        {Name: "ci", Role: access.Reader, Expires: g.now},
	} {
		if _, _, err := g.tokens().Create(t.Context(), w, access.Identity{}); !errors.Is(err, access.ErrInvalidToken) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := g.tokens().Revoke(t.Context(), "none"); !errors.Is(err, access.ErrNoSuchToken) {
		t.Errorf("revoke: got %v", err)
	}
}
