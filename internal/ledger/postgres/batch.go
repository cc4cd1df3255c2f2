package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/relational"
)

// database runs batches on connections of a pool.
type database struct{ pool *pgxpool.Pool }

// maxAttempts is how often a batch is tried that ends in deadlocks.
const maxAttempts = 5

// Batch implements [relational.Database]. It may call do more than once: PostgreSQL ends one of the batches that wait for each other.
func (d *database) Batch(ctx context.Context, do func(context.Context, relational.Batch) error) error {
	var err error
	for range maxAttempts {
		if err = d.attempt(ctx, do); !isDeadlock(err) {
			return err
		}
	}
	return err
}

// isDeadlock reports whether PostgreSQL ended a transaction because of a deadlock.
func isDeadlock(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == "40P01" // deadlock_detected
}

func (d *database) attempt(ctx context.Context, do func(context.Context, relational.Batch) error) error {
	tx, err := d.pool.Begin(ctx)
	if err != nil {
		return err
	}
	b := &batch{tx, map[string]int64{}}
	if err := b.begin(ctx); err != nil {
		return errors.Join(err, rollback(tx))
	}
	if err := do(ctx, b); err != nil {
		return errors.Join(err, rollback(tx))
	}
	return tx.Commit(ctx)
}

// rollback ends a transaction whose context may have ended. A closed connection has already ended it.
func rollback(tx pgx.Tx) error {
	err := tx.Rollback(context.Background())
	if tx.Conn().IsClosed() {
		return nil
	}
	return err
}

// batch stores reports by columns: each statement gets arrays of values and joins them with the stored rows, in one round trip.
// (Copying into a temporary table first writes everything twice and is not faster.)
//
// All batches lock rows in the same order, so that they rarely deadlock: new clusters by name, all clusters by id,
// then sources, the clusters' rows, and last the outcomes by id. Rows that other batches add meanwhile may be locked later.
type batch struct {
	tx     pgx.Tx
	locked map[string]int64 // clusters
}

// begin blocks compaction, which could delete outcomes that the batch has found and not used yet. Batches of other servers wait for the
// locks of this one, so it must not be idle.
func (b *batch) begin(ctx context.Context) error {
	_, err := b.tx.Exec(ctx, fmt.Sprintf("SELECT %s, pg_advisory_xact_lock_shared(%d)", noPause, compactionLock))
	return err
}

// Outcomes implements [relational.Batch].
func (b *batch) Outcomes(ctx context.Context, outcomes []relational.OutcomeRow, moves []relational.Move) error {
	moved := column(moves, func(m relational.Move) int64 { return m.Outcome })
	if len(moves) > 0 {
		// Before the writes, which would lock rows in another order.
		if _, err := b.tx.Exec(ctx, queries.Get("lockOutcomes"), moved); err != nil {
			return err
		}
	}
	_, err := b.tx.Exec(ctx, queries.Get("putOutcomes"),
		column(outcomes, func(o relational.OutcomeRow) int64 { return o.ID }),
		column(outcomes, func(o relational.OutcomeRow) int64 { return o.Source }),
		column(outcomes, func(o relational.OutcomeRow) string { return o.Revision }),
		column(outcomes, func(o relational.OutcomeRow) int64 { return int64(o.Severity) }),
		column(outcomes, func(o relational.OutcomeRow) string { return o.Message }),
		column(outcomes, func(o relational.OutcomeRow) string { return o.Applied }),
		column(outcomes, func(o relational.OutcomeRow) int64 { return int64(o.Health) }),
		column(outcomes, func(o relational.OutcomeRow) string { return o.Unhealthy }),
		column(outcomes, func(o relational.OutcomeRow) int64 { return o.FirstObserved }))
	if err != nil || len(moves) == 0 {
		return err
	}
	_, err = b.tx.Exec(ctx, queries.Get("moveReconcilers"), moved, column(moves, func(m relational.Move) int64 { return m.Reconcilers }))
	return err
}

// Facts implements [relational.Batch].
func (b *batch) Facts(ctx context.Context, facts []relational.Fact, thin []relational.Thin) error {
	if len(facts) == 0 {
		return nil
	}
	_, err := b.tx.Exec(ctx, queries.Get("putFacts"),
		column(facts, func(f relational.Fact) int64 { return f.Reconciler }),
		column(facts, func(f relational.Fact) int64 { return f.Observed }),
		column(facts, func(f relational.Fact) int64 { return f.Received }),
		column(facts, func(f relational.Fact) int64 { return f.Outcome }))
	if err != nil || len(thin) == 0 {
		return err
	}
	_, err = b.tx.Exec(ctx, queries.Get("thinFacts"),
		column(thin, func(t relational.Thin) int64 { return t.Reconciler }),
		column(thin, func(t relational.Thin) int64 { return t.From }),
		column(thin, func(t relational.Thin) int64 { return t.To }))
	return err
}

// States implements [relational.Batch].
func (b *batch) States(ctx context.Context, states []relational.Current, followers []relational.Follower) error {
	if len(states) > 0 {
		_, err := b.tx.Exec(ctx, queries.Get("putStates"),
			column(states, func(s relational.Current) int64 { return s.Reconciler }),
			column(states, func(s relational.Current) int64 { return s.Source }),
			column(states, func(s relational.Current) int64 { return s.Outcome }),
			column(states, func(s relational.Current) int64 { return s.Since }),
			column(states, func(s relational.Current) int64 { return s.Confirmed }),
			column(states, func(s relational.Current) int64 { return s.Received }))
		if err != nil {
			return err
		}
	}
	if len(followers) == 0 {
		return nil
	}
	_, err := b.tx.Exec(ctx, queries.Get("putFollowers"),
		column(followers, func(f relational.Follower) int64 { return f.Source }),
		column(followers, func(f relational.Follower) int64 { return f.Reconciler }))
	return err
}

// Settle implements [relational.Batch].
func (b *batch) Settle(ctx context.Context, reconcilers []int64) error {
	_, err := b.tx.Exec(ctx, relational.SettleSince+" = ANY ($1::bigint[])", reconcilers)
	return err
}

// Heard implements [relational.Batch].
func (b *batch) Heard(ctx context.Context, heard map[string]relational.Heartbeats) error {
	var names []string
	for name := range heard {
		names = append(names, name)
	}
	clusters, err := b.clusters(ctx, names)
	if err != nil {
		return err
	}
	slices.SortFunc(names, func(a, b string) int { return int(clusters[a] - clusters[b]) })
	var after, from, to []int64
	for _, name := range names {
		for _, g := range heard[name].Gaps() {
			after, from, to = append(after, clusters[name]), append(from, g.From), append(to, g.To)
		}
	}
	_, err = b.tx.Exec(ctx, queries.Get("putHeard"),
		column(names, func(name string) int64 { return clusters[name] }),
		column(names, func(name string) int64 { return heard[name].Last }),
		after, from, to, ledger.DefaultSilence.Microseconds())
	return err
}

// column returns one value of each row.
func column[R, V any](rows []R, value func(R) V) []V {
	values := make([]V, len(rows))
	for i, row := range rows {
		values[i] = value(row)
	}
	return values
}
