package relational

import (
	"context"
	"crypto/rand"
)

// Identity implements [ledger.Identified].
func (s *Store) Identity(ctx context.Context) (string, error) {
	return s.Keep(ctx, "ledger", rand.Text())
}
