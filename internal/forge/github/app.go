package github

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
)

// App is a GitHub App that is installed for an account.
type App struct {
	// ID is the app's client ID or number.
	ID string // required
	// Installation is the number of the installation.
	Installation int64 // required
	// PrivateKey is the app's key, in PEM.
	PrivateKey forge.Secret // required
}

// installation fetches tokens for an installed app. They are valid for an hour; each is used until shortly before that.
type installation struct {
	app    App
	key    *rsa.PrivateKey
	clock  transport.Clock
	client rest.Client

	mu      sync.Mutex
	token   forge.Secret
	issued  time.Time
	expires time.Time
}

// GitHub may refuse a new token for some seconds, until all its servers know it.
const (
	spreading  = 10 * time.Second
	spreadStep = time.Second
)

// refreshing sends requests of an installation. It repeats those that are refused although their token is new,
// and once with another token those whose token was revoked early.
type refreshing struct {
	*installation
	next http.RoundTripper
}

func (f refreshing) RoundTrip(r *http.Request) (*http.Response, error) {
	for dropped := false; ; {
		answer, err := f.next.RoundTrip(r)
		if err != nil || r.Body != nil && r.GetBody == nil {
			return answer, err
		}
		fresh := f.age() < spreading
		switch status := answer.StatusCode; {
		case fresh && (status == http.StatusUnauthorized || status == http.StatusForbidden && !permission(answer)):
			if err := f.clock.Sleep(r.Context(), spreadStep); err != nil {
				return nil, err
			}
		case !fresh && !dropped && status == http.StatusUnauthorized:
			dropped = true
			f.drop()
		default:
			return answer, nil
		}
		_ = answer.Body.Close()
		if r.GetBody != nil {
			body, err := r.GetBody()
			if err != nil {
				return nil, err
			}
			r = r.Clone(r.Context())
			r.Body = body
		}
	}
}

// permission reports whether a refusal names the permission that is missing, so that it stays.
func permission(answer *http.Response) bool {
	return answer.Header.Get("X-Accepted-Github-Permissions") != ""
}

// age returns how long ago the token was issued.
func (i *installation) age() time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.clock.Now().Sub(i.issued)
}

// drop makes the next request get a new token.
func (i *installation) drop() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.expires = time.Time{}
}

// early is how long before its expiry a token is replaced: longer than a request with all its retries takes.
const early = 5 * time.Minute

func newInstallation(app App, api string, c transport.Config) (*installation, error) {
	key, err := parseKey(app.PrivateKey)
	if err != nil {
		return nil, err
	}
	i := &installation{app: app, key: key, clock: c.Clock}
	if i.clock == nil {
		i.clock = transport.SystemClock{}
	}
	c.Authorize = i.signIn
	i.client = rest.Client{Base: strings.TrimSuffix(api, "/"), HTTP: transport.New(c).Client()}
	return i, nil
}

func parseKey(text forge.Secret) (*rsa.PrivateKey, error) {
	invalid := &forge.Error{
		Kind: forge.ErrInvalid, Op: "read the app's private key", Detail: "it is not an RSA key in PEM",
		Hint: "use the file that GitHub generated for the app",
	}
	block, _ := pem.Decode([]byte(text.Reveal()))
	if block == nil {
		return nil, invalid
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if key, ok := parsed.(*rsa.PrivateKey); err == nil && ok {
		return key, nil
	}
	return nil, invalid
}

// authorize adds the installation's token to a request.
func (i *installation) authorize(r *http.Request) error {
	token, err := i.current(r.Context())
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token.Reveal())
	return nil
}

// current returns a token that is valid for a while.
func (i *installation) current(ctx context.Context) (forge.Secret, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.clock.Now().Before(i.expires.Add(-early)) {
		return i.token, nil
	}
	var answer struct {
		Token     string    `json:"token"`
		ExpiresAt time.Time `json:"expires_at"`
	}
	err := i.client.Do(ctx, rest.Request{
		Op: "get a token for the app", Where: "installation " + strconv.FormatInt(i.app.Installation, 10), Right: "to be installed",
		Method: http.MethodPost, Path: "/app/installations" + rest.Path(strconv.FormatInt(i.app.Installation, 10)) + "/access_tokens",
		Out: &answer, Repeatable: true,
	})
	if err != nil {
		return forge.Secret{}, err
	}
	i.token, i.issued, i.expires = forge.NewSecret(answer.Token), i.clock.Now(), answer.ExpiresAt
	return i.token, nil
}

// GitCredential returns the user name and password for Git access to the app's repositories.
// The password is replaced every hour: call GitCredential for each connection. Both are empty with a token instead of an app.
func (f *Forge) GitCredential(ctx context.Context) (user string, password forge.Secret, err error) {
	if f.app == nil {
		return "", forge.Secret{}, nil
	}
	password, err = f.app.current(ctx)
	return "x-access-token", password, err
}

// secrets returns the token in use.
func (i *installation) secrets() []forge.Secret {
	i.mu.Lock()
	defer i.mu.Unlock()
	return []forge.Secret{i.token}
}

// login returns the account name of an app.
func (i *installation) login(ctx context.Context) (string, error) {
	var answer struct {
		Slug string `json:"slug"`
	}
	err := i.client.Do(ctx, rest.Request{Op: readAccount.name, Where: "app " + i.app.ID, Path: "/app", Out: &answer})
	return answer.Slug + "[bot]", err
}

// signIn adds a token that the app itself issues: a JWT, valid for minutes. Its issue time is a minute ago,
// since GitHub's clock may be behind ours.
func (i *installation) signIn(r *http.Request) error {
	now := i.clock.Now()
	claims, err := json.Marshal(map[string]any{
		"iss": i.app.ID, "iat": now.Add(-time.Minute).Unix(), "exp": now.Add(8 * time.Minute).Unix(),
	})
	if err != nil {
		return err
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + encode(claims)
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, sum[:])
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+signed+"."+encode(signature))
	return nil
}
