package access

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// SignOn verifies ID and access tokens (JWTs) of an OpenID Connect issuer. It is safe for concurrent use and must not be copied.
type SignOn struct {
	// Issuer is the URL of the issuer. // required
	Issuer string
	// Audience is the required audience: the client ID of this server. // required
	Audience string
	// Roles are the roles of groups, the values of RolesClaim. The highest one counts; users in no listed group have no role.
	Roles map[string]Role
	// RolesClaim is the claim with the groups: a string or a list. Default: groups.
	RolesClaim string
	// NameClaim is the claim with the user's name. Default: the verified email, or else the subject, because users can
	// often choose other claims themselves.
	NameClaim string
	// Client sends requests to the issuer.
	Client *http.Client // required
	// Now returns the time. Default: [time.Now].
	Now func() time.Time

	// discovery merges concurrent calls of discover, and guards tried.
	discovery singleflight.Group
	tried     time.Time

	mu    sync.Mutex
	found *issuer
}

const (
	// rediscovery is the pause after a failed discovery.
	rediscovery = 5 * time.Second
	// patience is the timeout of requests to the issuer.
	patience = 10 * time.Second
)

// looksLikeJWT distinguishes JWTs from the tokens of this server.
func looksLikeJWT(token string) bool {
	return strings.HasPrefix(token, "ey") && strings.Count(token, ".") == 2
}

// Verify returns the owner of a token that the issuer signed for this audience and that is valid now.
func (s *SignOn) Verify(ctx context.Context, token secret.Value) (Identity, error) {
	return s.verify(ctx, token, func(*oidc.IDToken) bool { return true })
}

// VerifyNonce is like [SignOn.Verify], for an ID token that must have a nonce.
func (s *SignOn) VerifyNonce(ctx context.Context, token secret.Value, nonce string) (Identity, error) {
	return s.verify(ctx, token, func(t *oidc.IDToken) bool {
		return nonce != "" && subtle.ConstantTimeCompare([]byte(t.Nonce), []byte(nonce)) == 1
	})
}

// Endpoint returns the issuer's endpoints.
func (s *SignOn) Endpoint(ctx context.Context) (oauth2.Endpoint, error) {
	found, err := s.discovered(ctx)
	if err != nil {
		return oauth2.Endpoint{}, err
	}
	return found.endpoint, nil
}

func (s *SignOn) verify(ctx context.Context, token secret.Value, expected func(*oidc.IDToken) bool) (Identity, error) {
	found, err := s.discovered(ctx)
	if err != nil {
		return Identity{}, err
	}
	verified, err := found.verifier.Verify(ctx, token.Reveal())
	if err != nil {
		return Identity{}, notVerified(err)
	}
	if verified.IssuedAt.After(s.now().Add(skew)) {
		return Identity{}, notVerified(errors.New("it was issued in the future"))
	}
	if !expected(verified) {
		return Identity{}, notVerified(errors.New("the nonce differs"))
	}
	var claims map[string]any
	if err := verified.Claims(&claims); err != nil {
		return Identity{}, notVerified(err)
	}
	claimed := s.claimed(claims)
	role, groups := s.known(claimed)
	return Identity{
		Name: s.name(claims, verified.Subject), Role: role, Groups: groups, Claimed: claimed, Source: BySignOn, Expires: verified.Expiry,
	}, nil
}

// issuer is what the discovery of an issuer found.
type issuer struct {
	endpoint oauth2.Endpoint
	verifier *oidc.IDTokenVerifier
}

// discovered returns the issuer's endpoints and verifier. Discovery runs on first use, so that a server can start without its issuer.
func (s *SignOn) discovered(ctx context.Context) (*issuer, error) {
	s.mu.Lock()
	found := s.found
	s.mu.Unlock()
	if found != nil {
		return found, nil
	}
	result := s.discovery.DoChan("", func() (any, error) { return s.discover(context.WithoutCancel(ctx)) })
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case r := <-result:
		found, _ = r.Val.(*issuer)
		return found, r.Err
	}
}

// discover asks the issuer for its endpoints and keys, unless it failed to answer a moment ago. It is not called concurrently.
func (s *SignOn) discover(ctx context.Context) (*issuer, error) {
	now := s.now()
	if since := now.Sub(s.tried); since >= 0 && since < rediscovery {
		return nil, unavailable(errors.New("the issuer did not answer a moment ago"))
	}
	s.tried = now
	ctx = oidc.ClientContext(ctx, s.Client)
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	provider, err := oidc.NewProvider(bounded, s.Issuer)
	if err != nil {
		return nil, unavailable(fmt.Errorf("ask the issuer %q for its keys: %w", secret.Redact(s.Issuer), err))
	}
	found := &issuer{provider.Endpoint(), provider.VerifierContext(ctx, &oidc.Config{ClientID: s.Audience, Now: s.now})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = found
	return found, nil
}

func (s *SignOn) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// notVerified returns the error for an invalid token, without details of the verifier. Keys that cannot be fetched are not the
// client's fault.
func notVerified(err error) error {
	var expired *oidc.TokenExpiredError
	what := "the token is not from the configured issuer for this server"
	switch {
	case errors.As(err, &expired):
		what = "the token expired"
	case strings.Contains(err.Error(), "fetching keys"):
		return unavailable(errors.New("the issuer's keys cannot be fetched"))
	}
	return &Refusal{Kind: ErrUnauthenticated, Shown: true, What: what, Next: "sign in again"}
}

// skew is how far the clock of an issuer may be ahead.
const skew = 5 * time.Minute

// name returns how commands and the audit trail call the owner of a token. No user has the name of the first token.
func (s *SignOn) name(claims map[string]any, subject string) string {
	name := s.claimedName(claims, subject)
	if u, err := url.Parse(s.Issuer); err == nil && strings.EqualFold(name, firstToken) {
		return name + "@" + u.Host
	}
	return name
}

func (s *SignOn) claimedName(claims map[string]any, subject string) string {
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

// maxClaimed limits the groups of a token.
const maxClaimed = 2000

// claimed returns the groups in a token, sorted.
func (s *SignOn) claimed(claims map[string]any) []string {
	name := s.RolesClaim
	if name == "" {
		name = "groups"
	}
	values, ok := claims[name].([]any)
	if !ok {
		values = []any{claims[name]}
	}
	var groups []string
	for _, v := range values[:min(len(values), maxClaimed)] {
		if text, _ := v.(string); text != "" {
			groups = append(groups, text)
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}

// known returns those of some groups that have a role, and the highest of their roles.
func (s *SignOn) known(claimed []string) (most Role, groups []string) {
	for _, text := range claimed {
		r, known := s.Roles[text]
		if !known {
			continue
		}
		groups = append(groups, text)
		if r.rank() > most.rank() {
			most = r
		}
	}
	return most, groups
}
