package relational

import (
	"context"
	"fmt"
)

// Ping implements [ledger.Pinger].
func (s *Store) Ping(ctx context.Context) error {
	if err := s.Read.PingContext(ctx); err != nil {
		return fmt.Errorf("reach the ledger's database: %w", err)
	}
	return nil
}
