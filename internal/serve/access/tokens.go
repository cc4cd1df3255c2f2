package access

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Errors about tokens. Match with [errors.Is].
var (
	// ErrNoSuchToken means that no token has the ID.
	ErrNoSuchToken = errors.New("no such token")
	// ErrInvalidToken means that the properties of a new token are invalid.
	ErrInvalidToken = errors.New("invalid token")
)

// TokenRequest requests a token.
type TokenRequest struct {
	// Name is the person or program that uses it. // required
	Name string
	// Role is reader, operator or admin. // required
	Role Role
	// Expires is when it expires; zero means never.
	Expires time.Time
}

// Tokens manages the tokens of users and programs.
type Tokens struct {
	Store ledger.Tokens // required
	Guard *Guard        // required
}

// Create creates a token. The secret is returned only here; the ledger has its hash.
func (t Tokens) Create(ctx context.Context, w TokenRequest, by Identity) (secret.Value, ledger.Token, error) {
	now := t.Guard.now()
	name := clean(w.Name)
	switch {
	case name == "" || name != w.Name:
		return secret.Value{}, ledger.Token{}, fmt.Errorf("%w: want a name on one line, of at most %d bytes", ErrInvalidToken, maxName)
	case w.Role.rank() == 0:
		return secret.Value{}, ledger.Token{}, fmt.Errorf("%w: want the role reader, operator or admin", ErrInvalidToken)
	case !w.Expires.IsZero() && !w.Expires.After(now):
		return secret.Value{}, ledger.Token{}, fmt.Errorf("%w: the expiry is in the past", ErrInvalidToken)
	}
	token := NewToken(w.Role)
	stored := ledger.Token{
		ID: newID(), Hash: Hash(token), Role: string(w.Role), Description: name, By: by.String(), Created: now, Expires: w.Expires,
	}
	if err := t.Store.PutToken(ctx, stored); err != nil {
		return secret.Value{}, ledger.Token{}, err
	}
	return token, stored, nil
}

// List returns all tokens, including expired and revoked ones, newest first.
func (t Tokens) List(ctx context.Context) ([]ledger.Token, error) {
	all, err := t.Store.Tokens(ctx)
	slices.SortStableFunc(all, func(a, b ledger.Token) int { return b.Created.Compare(a.Created) })
	return all, err
}

// Revoke revokes a token, on this server immediately. Revoking it again does not change the time.
func (t Tokens) Revoke(ctx context.Context, id string) (ledger.Token, error) {
	all, err := t.Store.Tokens(ctx)
	if err != nil {
		return ledger.Token{}, err
	}
	i := slices.IndexFunc(all, func(t ledger.Token) bool { return t.ID == id })
	if i < 0 {
		return ledger.Token{}, fmt.Errorf("%w: %q", ErrNoSuchToken, id)
	}
	if all[i].Revoked.IsZero() {
		all[i].Revoked = t.Guard.now()
		if err := t.Store.PutToken(ctx, all[i]); err != nil {
			return ledger.Token{}, err
		}
	}
	t.Guard.Forget()
	return all[i], nil
}

// newID returns the ID of a token, which is not secret.
func newID() string {
	var bits [6]byte
	_, _ = rand.Read(bits[:]) // never fails
	return hex.EncodeToString(bits[:])
}
