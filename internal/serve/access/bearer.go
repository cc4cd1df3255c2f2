package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// bearer returns the bearer token of a request.
func bearer(r *http.Request) (token secret.Value, shown bool, err error) {
	headers := r.Header.Values("Authorization")
	if len(headers) == 0 {
		return secret.Value{}, false, nil
	}
	scheme, text, ok := strings.Cut(headers[0], " ")
	text = strings.TrimSpace(text)
	if len(headers) > 1 || !ok || !strings.EqualFold(scheme, "Bearer") || text == "" {
		return secret.Value{}, false, &Refusal{
			Kind: ErrUnauthenticated, Shown: true, What: "the header Authorization is not a bearer token", Next: "write Authorization: Bearer kal_...",
		}
	}
	return secret.New(text), true, nil
}

// IdentifyToken returns the owner of a token that was sent from an address. After too many failures of an address, only
// recently valid tokens are checked: guessing is slow, and others behind the same address are not blocked.
// The error is a [Refusal], or the context's.
func (g *Guard) IdentifyToken(ctx context.Context, token secret.Value, address string) (Identity, error) {
	now := g.now()
	if !wellFormed(token.Reveal()) {
		return Identity{}, g.refused(address, now, unknownToken())
	}
	key := Hash(token)
	found, state := g.known.find(key, now)
	if state == fresh {
		return g.Granted(found), nil
	}
	if wait := g.failed().Wait(network(address), now); wait > 0 && state == unknown {
		return Identity{}, tooMany(wait)
	}
	seen := g.known.generation()
	who, err := g.verify(ctx, token, key, now)
	switch {
	case err == nil:
		g.known.put(key, who, now, seen)
		return g.Granted(who), nil
	case errors.Is(err, ErrUnauthenticated):
		g.known.remove(key)
		return Identity{}, g.refused(address, now, err)
	}
	return Identity{}, err
}

// refused counts a failure of an address.
func (g *Guard) refused(address string, now time.Time, err error) error {
	if wait := g.failed().Take(network(address), now); wait > 0 {
		return tooMany(wait)
	}
	return err
}

func (g *Guard) failed() *Limiter {
	g.failuresOnce.Do(func() { g.failures.Burst, g.failures.Every = maxFailures, recovery })
	return &g.failures
}

// IdentifyHash returns the owner of the token with a [Hash]. It does not know tokens of an issuer.
// The error is a [Refusal], or the context's.
func (g *Guard) IdentifyHash(ctx context.Context, hash string) (Identity, error) {
	now := g.now()
	if found, state := g.known.find(hash, now); state == fresh {
		return found, nil
	}
	seen := g.known.generation()
	who, err := g.lookUp(ctx, hash, now)
	switch {
	case err == nil:
		g.known.put(hash, who, now, seen)
	case errors.Is(err, ErrUnauthenticated):
		g.known.remove(hash)
	}
	return who, err
}

func (g *Guard) verify(ctx context.Context, token secret.Value, hash string, now time.Time) (Identity, error) {
	if g.SignOn != nil && looksLikeJWT(token.Reveal()) {
		return g.SignOn.Verify(ctx, token)
	}
	return g.lookUp(ctx, hash, now)
}

// lookUp finds the token or credential with a hash in the ledger.
func (g *Guard) lookUp(ctx context.Context, hash string, now time.Time) (Identity, error) {
	t, err := g.Store.TokenByHash(ctx, hash)
	if err == nil {
		return tokenIdentity(t, now)
	}
	if !errors.Is(err, ledger.ErrNotFound) {
		return Identity{}, unavailable(err)
	}
	c, err := g.Store.ClusterByCredential(ctx, hash)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return Identity{}, unknownToken()
	case err != nil:
		return Identity{}, unavailable(err)
	}
	return Identity{Name: c.Name, Role: Cluster, Source: ByCluster, Cluster: c.Name}, nil
}

// tokenIdentity returns the owner of a valid token.
func tokenIdentity(t ledger.Token, now time.Time) (Identity, error) {
	refuse := func(what string) (Identity, error) {
		return Identity{}, &Refusal{Kind: ErrUnauthenticated, Shown: true, What: what, Next: "ask an admin for a new one"}
	}
	role, grants, err := rights(t)
	switch {
	case !t.Revoked.IsZero():
		return refuse("the token was revoked")
	case !t.Expires.IsZero() && !now.Before(t.Expires):
		return refuse("the token expired")
	case err != nil || role == Cluster:
		return refuse("the token has an unknown role")
	}
	name := clean(t.Description)
	if name == "" {
		name = t.ID
	}
	return Identity{Name: name, Role: role, Grants: grants, Source: ByToken, Token: t.ID, Scope: t.Scope, Expires: t.Expires}, nil
}

// rights returns the role of a token or, of one that is limited to workspaces, its grants.
func rights(t ledger.Token) (Role, []Grant, error) {
	if t.Role != string(Scoped) {
		role, err := ParseRole(t.Role)
		return role, nil, err
	}
	limit, err := LimitOf(t)
	return "", []Grant{limit}, err
}

// maxName limits the names of identities, in bytes.
const maxName = 128

// clean makes an untrusted name safe to show and to log.
func clean(name string) string { return cut(strings.TrimSpace(secret.Line(name)), maxName) }

// cut limits a text, in bytes, at the end of a character.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

func unknownToken() error {
	return &Refusal{
		Kind: ErrUnauthenticated, Shown: true, What: "the token is unknown",
		Next: "check that it is complete and belongs to this server, or ask an admin for a new one",
	}
}

func tooMany(wait time.Duration) error {
	return &Refusal{
		Kind: ErrTooMany, Shown: true, What: "too many invalid tokens from this address", Next: "wait, and check the token",
		RetryAfter: wait.Round(time.Second) + time.Second,
	}
}

// unavailable hides the cause from the client; errors.Unwrap returns it for the log.
func unavailable(err error) error {
	return fmt.Errorf("%w: %w", &Refusal{
		Kind: ErrUnavailable, Shown: true, What: "the server's database does not answer, so your identity cannot be checked", Next: "try again", RetryAfter: time.Second,
	}, err)
}
