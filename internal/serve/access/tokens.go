package access

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	// Role is reader, operator, break-glass or admin; with Workspaces, reader, approver, operator or break-glass.
	// // required
	Role Role
	// Workspaces limit the token to what belongs to them; empty means no limit. Environments limit it further.
	Workspaces, Environments []string
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
	case isEmpty(w.Workspaces) || isEmpty(w.Environments):
		return secret.Value{}, ledger.Token{}, fmt.Errorf("%w: an empty list of workspaces or environments is no limit: leave it out if that is meant", ErrInvalidToken)
	case len(w.Workspaces) == 0 && len(w.Environments) > 0:
		return secret.Value{}, ledger.Token{}, fmt.Errorf("%w: environments limit a token of workspaces: name these, too", ErrInvalidToken)
	case len(w.Workspaces) == 0 && (w.Role.rank() == 0 || w.Role == Approver):
		return secret.Value{}, ledger.Token{}, fmt.Errorf("%w: want the role reader, operator, break-glass or admin", ErrInvalidToken)
	case !w.Expires.IsZero() && !w.Expires.After(now):
		return secret.Value{}, ledger.Token{}, fmt.Errorf("%w: the expiry is in the past", ErrInvalidToken)
	}
	role, scope := w.Role, ""
	if len(w.Workspaces) > 0 {
		limit := Grant{Role: w.Role, Workspaces: w.Workspaces, Environments: w.Environments}
		if err := limit.checkScope(); err != nil {
			return secret.Value{}, ledger.Token{}, fmt.Errorf("%w: %w", ErrInvalidToken, err)
		}
		text, err := json.Marshal(limit)
		if err != nil {
			return secret.Value{}, ledger.Token{}, err
		}
		role, scope = Scoped, string(text)
	}
	token := NewToken(role)
	stored := ledger.Token{
		ID: newID(), Hash: Hash(token), Role: string(role), Scope: scope, Description: name, By: by.String(), Created: now, Expires: w.Expires,
	}
	if err := t.Store.PutToken(ctx, stored); err != nil {
		return secret.Value{}, ledger.Token{}, err
	}
	return token, stored, nil
}

// LimitOf returns what a token of the role [Scoped] allows. Older servers do not know the role, and refuse the token.
func LimitOf(t ledger.Token) (Grant, error) {
	var limit Grant
	decoder := json.NewDecoder(strings.NewReader(t.Scope))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&limit); err != nil {
		return Grant{}, fmt.Errorf("read what a token is limited to: %w", err)
	}
	return limit, limit.checkScope()
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
