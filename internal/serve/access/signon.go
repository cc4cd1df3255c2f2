package access

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// SignOn verifies the ID and access tokens (JWTs) that an OpenID Connect issuer signs for people and programs.
// It is safe for concurrent use and must not be copied.
type SignOn struct {
	// Issuer is the URL of the issuer, which publishes its keys below it. // required
	Issuer string
	// Audience is whom the tokens have to be made for: the client ID of this server. // required
	Audience string
	// Roles are the roles of the values of RolesClaim; of several the one that may do most counts. Nobody else has a role.
	Roles map[string]Role
	// RolesClaim is the claim with the groups; empty means "groups". Its value is a text or a list of them.
	RolesClaim string
	// NameClaim is the claim that people are called by. Empty means the verified address of email, or the subject:
	// what else there is, people may often choose for themselves.
	NameClaim string
	// Client fetches the keys; nil for one that gives up after ten seconds.
	Client *http.Client
	// Now tells the time; nil for the clock.
	Now func() time.Time

	mu       sync.Mutex
	verifier *oidc.IDTokenVerifier
	endpoint oauth2.Endpoint
	tried    time.Time
}

const (
	// rediscovery is how long an issuer that did not answer is left alone.
	rediscovery = 5 * time.Second
	// patience is how long an issuer may take to answer.
	patience = 10 * time.Second
)

// Check says what is missing or wrong in the configuration.
func (s *SignOn) Check() error {
	switch {
	case s.Issuer == "":
		return errors.New("sign-on needs the URL of an issuer")
	case s.Audience == "":
		return errors.New("sign-on needs an audience: the client ID that the issuer knows this server by")
	}
	for value, role := range s.Roles {
		if role.rank() == 0 {
			return fmt.Errorf("sign-on gives %q the role %q: write reader, operator or admin", value, role)
		}
	}
	return nil
}

// looksLikeJWT tells a signed token from the opaque ones of this server.
func looksLikeJWT(token string) bool {
	return strings.HasPrefix(token, "ey") && strings.Count(token, ".") == 2
}

// Verify returns whose token it is. It is refused unless the issuer signed it, for this audience, and it is valid now.
func (s *SignOn) Verify(ctx context.Context, token secret.Value) (Identity, error) {
	return s.verify(ctx, token, func(*oidc.IDToken) bool { return true })
}

// VerifyNonce is [SignOn.Verify] for an ID token that was asked for with a nonce, which it must have.
func (s *SignOn) VerifyNonce(ctx context.Context, token secret.Value, nonce string) (Identity, error) {
	return s.verify(ctx, token, func(t *oidc.IDToken) bool {
		return nonce != "" && subtle.ConstantTimeCompare([]byte(t.Nonce), []byte(nonce)) == 1
	})
}

// Endpoint returns where the issuer signs people in, and gives tokens for codes.
func (s *SignOn) Endpoint(ctx context.Context) (oauth2.Endpoint, error) {
	_, err := s.discovered(ctx)
	return s.endpoint, err // it is set once, before the verifier is
}

func (s *SignOn) verify(ctx context.Context, token secret.Value, expected func(*oidc.IDToken) bool) (Identity, error) {
	verifier, err := s.discovered(ctx)
	if err != nil {
		return Identity{}, err
	}
	verified, err := verifier.Verify(ctx, token.Reveal())
	if err != nil {
		return Identity{}, notVerified(err)
	}
	if !expected(verified) {
		return Identity{}, notVerified(errors.New("it has another nonce"))
	}
	var claims map[string]any
	if err := verified.Claims(&claims); err != nil {
		return Identity{}, notVerified(err)
	}
	return Identity{
		Name: s.name(claims, verified.Subject), Role: s.role(claims), Source: BySignOn, Expires: verified.Expiry,
	}, nil
}

// discovered returns what verifies tokens, once the issuer has said how. A server starts while its issuer is away.
func (s *SignOn) discovered(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.verifier != nil {
		return s.verifier, nil
	}
	now := s.now()
	if since := now.Sub(s.tried); since >= 0 && since < rediscovery {
		return nil, unavailable(errors.New("the issuer did not answer a moment ago"))
	}
	s.tried = now
	bounded, cancel := context.WithTimeout(oidc.ClientContext(ctx, s.client()), patience)
	defer cancel()
	provider, err := oidc.NewProvider(bounded, s.Issuer)
	if err != nil {
		return nil, unavailable(fmt.Errorf("ask the issuer %q for its keys: %w", secret.Redact(s.Issuer), err))
	}
	s.endpoint = provider.Endpoint()
	s.verifier = provider.VerifierContext(
		oidc.ClientContext(context.WithoutCancel(ctx), s.client()), &oidc.Config{ClientID: s.Audience, Now: s.now})
	return s.verifier, nil
}

func (s *SignOn) client() *http.Client {
	if s.Client != nil {
		return s.Client
	}
	return &http.Client{Timeout: patience}
}

func (s *SignOn) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// notVerified says the one thing about a token that people can mend, and not what the verifier quotes of it.
// Keys that cannot be fetched are not the fault of who asks.
func notVerified(err error) error {
	var expired *oidc.TokenExpiredError
	what := "the token is not one of the configured issuer for this server"
	switch {
	case errors.As(err, &expired):
		what = "the token expired"
	case strings.Contains(err.Error(), "fetching keys"):
		return unavailable(errors.New("the issuer did not give its keys"))
	}
	return &Refusal{Kind: ErrUnauthenticated, Shown: true, What: what, Next: "sign in again"}
}

func (s *SignOn) name(claims map[string]any, subject string) string {
	text := func(claim string) string { t, _ := claims[claim].(string); return clean(t) }
	verified, _ := claims["email_verified"].(bool)
	switch {
	case s.NameClaim != "" && text(s.NameClaim) != "":
		return text(s.NameClaim)
	case s.NameClaim == "" && verified && text("email") != "":
		return text("email")
	}
	return clean(subject)
}

// role is the one that may do most of those that the values of a claim have.
func (s *SignOn) role(claims map[string]any) Role {
	name := s.RolesClaim
	if name == "" {
		name = "groups"
	}
	values, ok := claims[name].([]any)
	if !ok {
		values = []any{claims[name]}
	}
	var most Role
	for _, v := range values {
		text, _ := v.(string)
		if r := s.Roles[text]; text != "" && r.rank() > most.rank() {
			most = r
		}
	}
	return most
}
