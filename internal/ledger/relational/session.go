package relational

import (
	"context"
	"fmt"
	"time"
)

// EndSession implements [ledger.Sessions].
func (s *Store) EndSession(ctx context.Context, name string, until time.Time) error {
	if err := require("session", name); err != nil {
		return err
	}
	if _, err := s.Write.ExecContext(ctx, queries.Get("insertSession"), name, micros(until)); err != nil {
		return fmt.Errorf("end session: %w", err)
	}
	return nil
}

// SessionEnded implements [ledger.Sessions].
func (s *Store) SessionEnded(ctx context.Context, name string) (bool, error) {
	var n int
	if err := s.Read.QueryRowContext(ctx, queries.Get("countSessions"), name).Scan(&n); err != nil {
		return false, fmt.Errorf("read session: %w", err)
	}
	return n > 0, nil
}
