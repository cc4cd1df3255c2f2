package relational

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// NoteClock implements [ledger.Clocks].
func (s *Store) NoteClock(ctx context.Context, c ledger.Clock) error {
	if err := require("clock", c.Cluster); err != nil {
		return err
	}
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		cluster, err := ensure(ctx, tx, queries.Get("insertCluster"), queries.Get("findCluster"), c.Cluster)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, queries.Get("insertClock"), cluster, micros(c.Noted), micros(c.From), c.Correction.Microseconds()); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, queries.Get("forgetClocks"), cluster, ledger.KeptClocks)
		return err
	})
	if err != nil {
		return fmt.Errorf("store clock of %q: %w", c.Cluster, err)
	}
	return nil
}

// Clocks implements [ledger.Clocks].
func (s *Store) Clocks(ctx context.Context, cluster string) ([]ledger.Clock, error) {
	return read(ctx, s, fmt.Sprintf("clock of %q", cluster), scanClock, queries.Get("selectClock")+" WHERE c.name = $1 ORDER BY k.noted DESC", cluster)
}

func scanClock(row scanner) (c ledger.Clock, err error) {
	var correction int64
	err = row.Scan(&c.Cluster, (*microTime)(&c.From), &correction, (*microTime)(&c.Noted))
	c.Correction = time.Duration(correction) * time.Microsecond
	return c, err
}
