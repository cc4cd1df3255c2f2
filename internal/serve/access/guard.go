package access

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Store is the part of the ledger that a guard reads.
type Store interface {
	TokenByHash(ctx context.Context, hash string) (ledger.Token, error)
	ClusterByCredential(ctx context.Context, hash string) (ledger.Cluster, error)
}

// Authenticator authenticates requests without a bearer token, such as those of a session.
type Authenticator interface {
	// Authenticate returns the client. ok is false if the request has no credential of this kind; the error is a [Refusal] if the
	// credential is invalid.
	Authenticate(r *http.Request) (client Identity, ok bool, err error)
}

// AnonymousRead allows reading without a credential.
type AnonymousRead int

const (
	// AnonymousNever allows it to no client.
	AnonymousNever AnonymousRead = iota
	// AnonymousLocal allows it to programs on this machine that use a local host name. It is for servers that listen on loopback.
	AnonymousLocal
	// AnonymousAlways allows it to every client.
	AnonymousAlways
)

// Guard authenticates clients. It is safe for concurrent use and must not be copied.
type Guard struct {
	// Store has the tokens and the credentials of clusters. // required
	Store Store
	// SignOn verifies JWTs of an issuer. Optional.
	SignOn *SignOn
	// Others authenticate requests without a bearer token, in this order.
	Others []Authenticator
	// Anonymous allows reading without a credential.
	Anonymous AnonymousRead
	// Grants returns the grants of groups, which are read for each request. Optional.
	Grants func() []Grant
	// Now returns the time. Default: [time.Now].
	Now func() time.Time

	known cache
	// failures counts invalid tokens by address, to limit load and noise. Tokens cannot be guessed.
	failures     Limiter
	failuresOnce sync.Once
}

func (g *Guard) now() time.Time {
	if g.Now != nil {
		return g.Now()
	}
	return time.Now()
}

// Identify returns the client of a request. The error is a [Refusal], or the context's. Invalid credentials are refused even
// where none are required, so that clients notice.
func (g *Guard) Identify(r *http.Request) (Identity, error) {
	who, err := g.identify(r)
	who.Address = Address(r)
	return g.Granted(who), err
}

// Granted returns an identity of the issuer with the grants of its groups, as they are now. Only the issuer's groups count, never names:
// users can often choose those.
func (g *Guard) Granted(who Identity) Identity {
	if g.Grants == nil || len(who.Claimed) == 0 {
		return who
	}
	who.Grants = Granted(g.Grants(), who.Claimed)
	who.Groups = slices.Clone(who.Groups)
	for _, grant := range who.Grants {
		who.Groups = append(who.Groups, grant.Groups...)
	}
	slices.Sort(who.Groups)
	who.Groups = slices.Compact(who.Groups)
	return who
}

func (g *Guard) identify(r *http.Request) (Identity, error) {
	token, shown, err := bearer(r)
	switch {
	case err != nil:
		return Identity{}, err
	case shown:
		return g.IdentifyToken(r.Context(), token, Address(r))
	}
	for _, other := range g.Others {
		who, ok, err := other.Authenticate(r)
		switch {
		case errors.Is(err, ErrUnauthenticated):
			return Identity{}, g.refused(Address(r), g.now(), err)
		case ok || err != nil:
			return who, err
		}
	}
	if g.Open(r) {
		return Identity{Name: string(Anonymous), Role: Reader, Source: Anonymous}, nil
	}
	return Identity{Name: string(Anonymous), Source: Anonymous}, nil
}

// Restrict returns a handler for clients with a role. It answers others with plain text.
func (g *Guard) Restrict(needed Role, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := g.Identify(r)
		if err == nil {
			err = who.May(needed)
		}
		if err == nil {
			next.ServeHTTP(w, r)
			return
		}
		status, text := http.StatusServiceUnavailable, "the credential cannot be checked at the moment"
		if refusal := new(Refusal); errors.As(err, &refusal) {
			text = refusal.Error()
			if refusal.RetryAfter > 0 {
				w.Header().Set("Retry-After", strconv.Itoa(int(refusal.RetryAfter.Seconds())+1))
			}
		}
		switch {
		case errors.Is(err, ErrUnauthenticated):
			status = http.StatusUnauthorized
			w.Header().Set("WWW-Authenticate", `Bearer realm="kalypso"`)
		case errors.Is(err, ErrForbidden):
			status = http.StatusForbidden
		case errors.Is(err, ErrTooMany):
			status = http.StatusTooManyRequests
		}
		http.Error(w, text, status)
	})
}

// Open reports whether the client of a request can read without a credential.
func (g *Guard) Open(r *http.Request) bool {
	return g.Anonymous == AnonymousAlways || g.Anonymous == AnonymousLocal && local(r)
}

// Forget clears the cache. Call it after a token or credential was revoked or replaced.
func (g *Guard) Forget() { g.known.forget() }
