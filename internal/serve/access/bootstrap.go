package access

import (
	"context"
	"fmt"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Bootstrap makes sure that somebody can get in: when the ledger has no token, one of an admin is stored.
//
// It is existing, where that is not zero, so that one file has one token for everything that a server brings along, the
// local forge included; else a new one. Token is what to write to that file, for nobody else to read; it is zero when the
// ledger has tokens, of which nobody knows more than the hash.
func Bootstrap(ctx context.Context, store ledger.Tokens, existing secret.Value, now time.Time) (token secret.Value, err error) {
	all, err := store.Tokens(ctx)
	if err != nil || len(all) > 0 {
		return secret.Value{}, err
	}
	token = existing
	if token.IsZero() {
		token = NewToken(Admin)
	}
	t := ledger.Token{
		ID: newID(), Hash: Hash(token), Role: string(Admin), Description: "admin", By: "first start", Created: now,
	}
	if err := store.PutToken(ctx, t); err != nil {
		return secret.Value{}, fmt.Errorf("store the first token: %w", err)
	}
	return token, nil
}
