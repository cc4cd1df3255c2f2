package relational

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

const (
	insertClock = `INSERT INTO clock (cluster_id, noted, from_time, correction) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`
	selectClock = `SELECT c.name, k.from_time, k.correction, k.noted FROM clock k JOIN cluster c ON c.id = k.cluster_id`
)

// forgetClocks keeps the last ones that were noted of a cluster.
var forgetClocks = `
DELETE FROM clock WHERE cluster_id = $1 AND noted < (
    SELECT MIN(noted) FROM (SELECT noted FROM clock WHERE cluster_id = $1 ORDER BY noted DESC LIMIT ` + strconv.Itoa(ledger.KeptClocks) + `) kept)`

// NoteClock implements [ledger.Clocks].
func (s *Store) NoteClock(ctx context.Context, c ledger.Clock) error {
	if err := require("clock", c.Cluster); err != nil {
		return err
	}
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		cluster, err := ensure(ctx, tx, insertCluster, findCluster, c.Cluster)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, insertClock, cluster, micros(c.Noted), micros(c.From), c.Correction.Microseconds()); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, forgetClocks, cluster)
		return err
	})
	if err != nil {
		return fmt.Errorf("note the clock of %q: %w", c.Cluster, err)
	}
	return nil
}

// Clocks implements [ledger.Clocks].
func (s *Store) Clocks(ctx context.Context, cluster string) ([]ledger.Clock, error) {
	return read(ctx, s, fmt.Sprintf("the clock of %q", cluster), scanClock, selectClock+" WHERE c.name = $1 ORDER BY k.noted DESC", cluster)
}

func scanClock(row scanner) (c ledger.Clock, err error) {
	var correction int64
	err = row.Scan(&c.Cluster, (*microTime)(&c.From), &correction, (*microTime)(&c.Noted))
	c.Correction = time.Duration(correction) * time.Microsecond
	return c, err
}
