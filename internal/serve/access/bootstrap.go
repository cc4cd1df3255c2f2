package access

import (
	"context"
	"fmt"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// firstToken is the name of the token that is created on the first start.
const firstToken = "admin"

// Bootstrap stores an admin token if the ledger has no token.
//
// It stores existing, unless that is zero, so that the embedded forge can use the same token; otherwise a new one. It returns the
// token to write to a file; zero if the ledger has tokens.
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
		ID: newID(), Hash: Hash(token), Role: string(Admin), Description: firstToken, By: "first start", Created: now,
	}
	stored, err := store.PutFirstToken(ctx, t)
	if err != nil {
		return secret.Value{}, fmt.Errorf("store the first token: %w", err)
	}
	if !stored { // another server was faster
		return secret.Value{}, nil
	}
	return token, nil
}
