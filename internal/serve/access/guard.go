package access

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Store is what the guard needs of the ledger.
type Store interface {
	TokenByHash(ctx context.Context, hash string) (ledger.Token, error)
	ClusterByCredential(ctx context.Context, hash string) (ledger.Cluster, error)
}

// Authenticator finds out who is asking in a way of its own, such as by the cookie of a session.
type Authenticator interface {
	// Authenticate returns who is asking. ok is false when the request does not show what it looks for;
	// a [Refusal] says that it does, and that it is not valid.
	Authenticate(r *http.Request) (who Identity, ok bool, err error)
}

// AnonymousRead says who may read without showing who they are.
type AnonymousRead int

const (
	// AnonymousNever is nobody.
	AnonymousNever AnonymousRead = iota
	// AnonymousLocal are programs of this machine that ask for it by a local name. It is for servers that listen on loopback.
	AnonymousLocal
	// AnonymousAlways is everybody who reaches the server.
	AnonymousAlways
)

// Guard finds out who is asking. It is safe for concurrent use and must not be copied.
type Guard struct {
	// Store has the tokens, and the credentials of clusters. // required
	Store Store
	// SignOn verifies the JWTs of an issuer; nil for none.
	SignOn *SignOn
	// Others are asked when there is no bearer token, in their order.
	Others []Authenticator
	// Anonymous says who may read without showing anything.
	Anonymous AnonymousRead
	// Now tells the time; nil for the clock.
	Now func() time.Time

	known cache
	// failures counts the tokens that were not valid, by address. Tokens cannot be guessed;
	// this is about the work and the noise that trying makes.
	failures     Limiter
	failuresOnce sync.Once
}

func (g *Guard) now() time.Time {
	if g.Now != nil {
		return g.Now()
	}
	return time.Now()
}

// Identify returns who sends a request. The error is a [Refusal], or a context's own. What was shown and is not valid is
// refused, also where nothing had to be shown: a program shall hear that its token ended.
func (g *Guard) Identify(r *http.Request) (Identity, error) {
	who, err := g.identify(r)
	who.Address = Address(r)
	return who, err
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
	if g.Anonymous == AnonymousAlways || g.Anonymous == AnonymousLocal && local(r) {
		return Identity{Name: string(Anonymous), Role: Reader, Source: Anonymous}, nil
	}
	return Identity{Name: string(Anonymous), Source: Anonymous}, nil
}

// Forget makes the guard ask the ledger again about everybody. Call it whenever a token or credential is revoked or replaced.
func (g *Guard) Forget() { g.known.forget() }
