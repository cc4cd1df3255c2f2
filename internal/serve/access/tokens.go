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
	// ErrNoSuchToken means that no token has an ID.
	ErrNoSuchToken = errors.New("no such token")
	// ErrInvalidToken means that a token cannot be made as it was asked for.
	ErrInvalidToken = errors.New("invalid token")
)

// Wanted is a token that somebody wants.
type Wanted struct {
	// Name is whom or what it is for. // required
	Name string
	// Role is what it is good for: reader, operator or admin. Clusters get theirs when they are registered. // required
	Role Role
	// Expires is when it ends; zero means never.
	Expires time.Time
}

// Tokens are the tokens of people and programs.
type Tokens struct {
	Store ledger.Tokens // required
	Guard *Guard        // required
}

// Create makes a token. The secret is returned only here; the ledger has its hash.
func (t Tokens) Create(ctx context.Context, w Wanted, by Identity) (secret.Value, ledger.Token, error) {
	now := t.Guard.now()
	name := clean(w.Name)
	switch {
	case name == "" || name != w.Name:
		return secret.Value{}, ledger.Token{}, fmt.Errorf("%w: a name says whom it is for, on one line, in up to %d bytes", ErrInvalidToken, maxName)
	case w.Role.rank() == 0:
		return secret.Value{}, ledger.Token{}, fmt.Errorf("%w: its role is reader, operator or admin", ErrInvalidToken)
	case !w.Expires.IsZero() && !w.Expires.After(now):
		return secret.Value{}, ledger.Token{}, fmt.Errorf("%w: it would have expired already", ErrInvalidToken)
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

// List returns all tokens, also those that ended, the newest first.
func (t Tokens) List(ctx context.Context) ([]ledger.Token, error) {
	all, err := t.Store.Tokens(ctx)
	slices.SortStableFunc(all, func(a, b ledger.Token) int { return b.Created.Compare(a.Created) })
	return all, err
}

// Revoke ends a token, on this server at once. One that is revoked stays so, since the time it was.
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

// newID names a token; it is no secret.
func newID() string {
	var bits [6]byte
	_, _ = rand.Read(bits[:]) // never fails
	return hex.EncodeToString(bits[:])
}
