package github_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/github"
	"github.com/kalypso-io/kalypso/internal/forge/github/githubtest"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
)

// apps serves GitHub's API for apps: it checks the app's own tokens and issues installation tokens.
type apps struct {
	t     *testing.T
	fake  *githubtest.Fake
	key   *rsa.PublicKey
	clock *forgetest.Clock
	given int
}

func (a *apps) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := a.check(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")); err != nil {
		a.t.Error(err)
		forgetest.Answer(401, `{"message":"A JSON web token could not be decoded"}`)(w, r)
		return
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /api/v3/app":
		forgetest.Answer(200, `{"slug":"kalypso"}`)(w, r)
	case "POST /api/v3/app/installations/42/access_tokens":
		a.given++
		token := fmt.Sprint("ghs_installation_", a.given)
		a.fake.World.Grant(token, "kalypso[bot]", "admin")
		expires := a.clock.Now().Add(time.Hour).Format(time.RFC3339)
		forgetest.Answer(201, fmt.Sprintf(`{"token":%q,"expires_at":%q}`, token, expires))(w, r)
	default:
		forgetest.Answer(404, `{"message":"Not Found"}`)(w, r)
	}
}

func (a *apps) check(token string) error {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return fmt.Errorf("no JWT: %q", token)
	}
	decode := base64.RawURLEncoding.DecodeString
	signature, _ := decode(parts[2])
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err := rsa.VerifyPKCS1v15(a.key, crypto.SHA256, sum[:], signature); err != nil {
		return err
	}
	var claims struct {
		Iss      string
		Iat, Exp int64
	}
	payload, _ := decode(parts[1])
	if err := json.Unmarshal(payload, &claims); err != nil {
		return err
	}
	now := a.clock.Now().Unix()
	if claims.Iss != "Iv1.app" || claims.Iat >= now || claims.Exp <= now || claims.Exp-claims.Iat > 600 {
		return fmt.Errorf("claims %+v", claims)
	}
	return nil
}

// installed returns an app on a fake, with a repository, and the server of its tokens.
func installed(t *testing.T) (*apps, *github.Forge, forge.Repository) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	fake, clock := githubtest.New(t), forgetest.NewClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	server := &apps{t: t, fake: fake, key: &key.PublicKey, clock: clock}
	fake.Apps = server
	url := fake.AddRepository("acme/gitops")
	fake.Commit(url, "dev")
	app := fake.Forge(t, github.Options{
		App:       &github.App{ID: "Iv1.app", Installation: 42, PrivateKey: forge.NewSecret(text)},
		Transport: transport.Config{Clock: clock},
	})
	repo, err := app.Repository(url)
	if err != nil {
		t.Fatal(err)
	}
	return server, app, repo
}

// GitHub refuses a new token for some seconds, with either status, also for requests with a body.
func TestFreshTokenOfAnAppIsTriedAgain(t *testing.T) {
	for _, status := range []int{401, 403} {
		server, _, repo := installed(t)
		begun := server.clock.Now()
		server.fake.Faults.Inject(forgetest.Fault{Path: "/pulls", Times: 3, Answer: forgetest.Answer(status, `{"message":"Bad credentials"}`)})
		c, err := repo.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: "dev", Base: "main", Title: "T"})
		if err != nil || c.Title != "T" || server.given != 1 {
			t.Errorf("%d: %+v, %v, %d tokens", status, c, err, server.given)
		}
		if waited := server.clock.Now().Sub(begun); waited > 10*time.Second {
			t.Errorf("%d: waited %v", status, waited)
		}
	}
	server, _, repo := installed(t)
	server.fake.Faults.Inject(forgetest.Fault{Path: "/pulls", Times: -1, Answer: forgetest.Answer(401, `{"message":"Bad credentials"}`)})
	if _, err := repo.PullRequest(t.Context(), 1); !errors.Is(err, forge.ErrDenied) || server.given > 2 {
		t.Errorf("refused for ever: %v, %d tokens", err, server.given)
	}
	server, _, repo = installed(t)
	server.fake.Faults.Inject(forgetest.Fault{Path: "/pulls", Times: -1, Answer: forgetest.Answer(403, `{"message":"no"}`, "X-Accepted-Github-Permissions", "pull_requests=read")})
	_, _ = repo.PullRequest(t.Context(), 1)
	if requests := server.fake.Faults.Requests("GET"); len(requests) != 1 {
		t.Errorf("a missing permission is requested %d times", len(requests))
	}
}

// A token that was revoked early is replaced once, instead of being used until it expires.
func TestRevokedTokenOfAnAppIsReplaced(t *testing.T) {
	server, _, repo := installed(t)
	c, err := repo.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: "dev", Base: "main", Title: "T"})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.clock.Sleep(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	server.fake.Faults.Inject(forgetest.Fault{Path: "/pulls", Answer: forgetest.Answer(401, `{"message":"Bad credentials"}`)})
	if _, err := repo.PullRequest(t.Context(), c.Number); err != nil || server.given != 2 {
		t.Errorf("%v, %d tokens", err, server.given)
	}
}

func TestApp(t *testing.T) {
	server, app, repo := installed(t)
	clock := server.clock
	c, err := repo.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: "dev", Base: "main", Title: "By the app"})
	if err != nil || c.Author != "kalypso[bot]" {
		t.Fatalf("got %+v, %v", c, err)
	}
	if who, err := app.Viewer(t.Context()); who != c.Author || err != nil {
		t.Errorf("viewer %q, %v", who, err)
	}
	for _, step := range []struct {
		wait  time.Duration
		given int
	}{{0, 1}, {54 * time.Minute, 1}, {2 * time.Minute, 2}} {
		if err := clock.Sleep(t.Context(), step.wait); err != nil {
			t.Fatal(err)
		}
		if _, err := repo.PullRequest(t.Context(), c.Number); err != nil || server.given != step.given {
			t.Errorf("after %v more: %d tokens given, want %d; %v", step.wait, server.given, step.given, err)
		}
		user, password, err := app.GitCredential(t.Context())
		if want := fmt.Sprint("ghs_installation_", step.given); user != "x-access-token" || password.Reveal() != want || err != nil {
			t.Errorf("Git gets %q with %q, %v; want %q", user, password.Reveal(), err, want)
		}
	}
}

// A token is for the API. Credentials for Git are configured separately.
func TestWithoutAppThereIsNoGitCredential(t *testing.T) {
	_, password, err := githubtest.New(t).Forge(t, github.Options{Token: forge.NewSecret(githubtest.Token)}).GitCredential(t.Context())
	if !password.IsZero() || err != nil {
		t.Errorf("got %q, %v", password.Reveal(), err)
	}
}

func TestAppKey(t *testing.T) {
	for _, key := range []forge.Secret{forge.NewSecret(""), forge.NewSecret("secret"), forge.NewSecret("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n")} {
		_, err := github.New(github.Options{App: &github.App{ID: "1", Installation: 2, PrivateKey: key}})
		if !errors.Is(err, forge.ErrInvalid) || strings.Contains(err.Error(), "AAAA") {
			t.Errorf("got %v", err)
		}
	}
}

// The address of the API depends on the edition.
func TestEndpoints(t *testing.T) {
	for site, want := range map[string]string{
		"":                           "https://api.github.com/repos/o/r/pulls/1",
		"https://github.com":         "https://api.github.com/repos/o/r/pulls/1",
		"https://acme.ghe.com":       "https://api.acme.ghe.com/repos/o/r/pulls/1",
		"https://github.example.com": "https://github.example.com/api/v3/repos/o/r/pulls/1",
	} {
		requested := ""
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			requested = r.URL.String()
			return nil, errors.New("enough")
		})
		f, err := github.New(github.Options{URL: site, Token: forge.NewSecret("token"), Transport: transport.Config{Base: base, Attempts: 1}})
		if err != nil {
			t.Fatal(err)
		}
		if site == "" {
			site = "https://github.com"
		}
		repo, err := f.Repository(site + "/o/r.git")
		if err != nil {
			t.Fatal(err)
		}
		if _, err = repo.PullRequest(t.Context(), 1); !errors.Is(err, forge.ErrUnavailable) || requested != want {
			t.Errorf("%s: requested %s, %v", site, requested, err)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
