package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/relational"
)

// database runs batches on the writing connection.
type database struct {
	db       *sql.DB
	prepared map[string]*sql.Stmt
}

// prepare prepares the statements of batches: for small batches, that would take longer than the statements.
func prepare(ctx context.Context, db *sql.DB) (*database, error) {
	d := &database{db, map[string]*sql.Stmt{}}
	for _, text := range append(slices.Collect(maps.Values(queries)), settle) {
		s, err := db.PrepareContext(ctx, text)
		if err != nil {
			return nil, err
		}
		d.prepared[text] = s
	}
	return d, nil
}

// Batch implements [relational.Database]. If the context ends, so does the transaction: statements have a context that does not end,
// because the driver starts a goroutine for each statement that could be canceled.
func (d *database) Batch(ctx context.Context, do func(context.Context, relational.Batch) error) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	b := &batch{database: d, tx: tx, statements: map[string]*sql.Stmt{}, clusters: map[string]int64{}}
	if err := do(context.WithoutCancel(ctx), b); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// batch stores reports row by row, which without a network is as fast as all at once.
type batch struct {
	*database
	tx         *sql.Tx
	statements map[string]*sql.Stmt
	clusters   map[string]int64
	silence    int64 // how long a silence must be; 0 while it is not read
}

// statement returns a prepared statement for the transaction.
func (b *batch) statement(ctx context.Context, text string) *sql.Stmt {
	s := b.statements[text]
	if s == nil {
		s = b.tx.StmtContext(ctx, b.prepared[text])
		b.statements[text] = s
	}
	return s
}

func (b *batch) exec(ctx context.Context, text string, args ...any) error {
	_, err := b.change(ctx, text, args...)
	return err
}

// change executes a statement and returns how many rows it changed.
func (b *batch) change(ctx context.Context, text string, args ...any) (int64, error) {
	result, err := b.statement(ctx, text).ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// id returns the id of a row and inserts the row if it does not exist.
func (b *batch) id(ctx context.Context, find, insert string, args ...any) (id int64, err error) {
	if err = b.statement(ctx, find).QueryRowContext(ctx, args...).Scan(&id); !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	err = b.statement(ctx, insert).QueryRowContext(ctx, args...).Scan(&id)
	return id, err
}

// Sources implements [relational.Batch].
func (b *batch) Sources(ctx context.Context, sources []ledger.Source) ([]int64, error) {
	ids := make([]int64, len(sources))
	for i, s := range sources {
		id, err := b.source(ctx, s)
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	return ids, nil
}

func (b *batch) source(ctx context.Context, s ledger.Source) (id int64, err error) {
	find := b.statement(ctx, queries.Get("findSource"))
	if err = find.QueryRowContext(ctx, s.Repository, s.Ref, s.Path).Scan(&id); !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	if err := b.exec(ctx, queries.Get("insertBranch"), s.Repository, s.Ref); err != nil {
		return 0, err
	}
	return b.id(ctx, queries.Get("findSource"), queries.Get("insertSource"), s.Repository, s.Ref, s.Path)
}

// Reconcilers implements [relational.Batch].
func (b *batch) Reconcilers(ctx context.Context, ids []ledger.ReconcilerID) ([]relational.Current, error) {
	states := make([]relational.Current, len(ids))
	for i, id := range ids {
		cluster, err := b.cluster(ctx, id.Cluster)
		if err != nil {
			return nil, err
		}
		if err := b.reconciler(ctx, &states[i], cluster, id); err != nil {
			return nil, err
		}
	}
	return states, nil
}

func (b *batch) cluster(ctx context.Context, name string) (int64, error) {
	if id, ok := b.clusters[name]; ok {
		return id, nil
	}
	id, err := b.id(ctx, queries.Get("findCluster"), queries.Get("insertCluster"), name)
	b.clusters[name] = id
	return id, err
}

func (b *batch) reconciler(ctx context.Context, c *relational.Current, cluster int64, id ledger.ReconcilerID) error {
	row := b.statement(ctx, queries.Get("findReconciler")).QueryRowContext(ctx, cluster, id.Kind, id.Namespace, id.Name)
	err := row.Scan(&c.Reconciler, &c.Source, &c.Outcome, &c.Since, &c.Confirmed, &c.Received)
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	insert := b.statement(ctx, queries.Get("insertReconciler"))
	return insert.QueryRowContext(ctx, cluster, id.Kind, id.Namespace, id.Name).Scan(&c.Reconciler)
}

// Outcomes implements [relational.Batch].
func (b *batch) Outcomes(ctx context.Context, outcomes []relational.OutcomeRow, moves []relational.Move) error {
	for _, o := range outcomes {
		if err := b.exec(ctx, queries.Get("putOutcome"), o.ID, o.Source, o.Revision, o.Severity, o.Message,
			o.Applied, o.Health, o.Unhealthy, o.FirstObserved); err != nil {
			return err
		}
	}
	for _, m := range moves {
		if err := b.exec(ctx, queries.Get("moveReconcilers"), m.Outcome, m.Reconcilers); err != nil {
			return err
		}
	}
	return nil
}

// Facts implements [relational.Batch].
func (b *batch) Facts(ctx context.Context, facts []relational.Fact, thin []relational.Thin) error {
	for _, f := range facts {
		if err := b.exec(ctx, queries.Get("putFact"), f.Reconciler, f.Observed, f.Received, f.Outcome); err != nil {
			return err
		}
	}
	for _, t := range thin {
		if err := b.exec(ctx, queries.Get("thinFacts"), t.Reconciler, t.From, t.To); err != nil {
			return err
		}
	}
	return nil
}

// States implements [relational.Batch].
func (b *batch) States(ctx context.Context, states []relational.Current, followers []relational.Follower) error {
	for _, s := range states {
		args := []any{s.Reconciler, s.Source, s.Outcome, s.Since, s.Confirmed, s.Received}
		moved, err := b.change(ctx, queries.Get("moveState"), args...)
		if err == nil && moved == 0 {
			err = b.exec(ctx, queries.Get("putState"), args...)
		}
		if err != nil {
			return err
		}
	}
	for _, f := range followers {
		if err := b.exec(ctx, queries.Get("putFollower"), f.Source, f.Reconciler); err != nil {
			return err
		}
	}
	return nil
}

// settle is the statement of Settle.
const settle = relational.SettleSince + " = $1"

// Settle implements [relational.Batch].
func (b *batch) Settle(ctx context.Context, reconcilers []int64) error {
	for _, r := range reconcilers {
		if err := b.exec(ctx, settle, r); err != nil {
			return err
		}
	}
	return nil
}

// Heard implements [relational.Batch].
func (b *batch) Heard(ctx context.Context, heard map[string]relational.Heartbeats) error {
	for name, h := range heard {
		var last, forgotten int64
		cluster, err := b.heard(ctx, name, &last, &forgotten)
		if err != nil {
			return err
		}
		if err := b.keepSilences(ctx, cluster, max(last, forgotten), h.Gaps()); err != nil {
			return err
		}
		if h.Last <= last {
			continue
		}
		if err := b.exec(ctx, queries.Get("putHeard"), cluster, h.Last); err != nil {
			return err
		}
	}
	return nil
}

// heard returns the id of a cluster and when it was last heard, and inserts the cluster if it does not exist.
func (b *batch) heard(ctx context.Context, name string, last, forgotten *int64) (cluster int64, err error) {
	err = b.statement(ctx, queries.Get("findHeard")).QueryRowContext(ctx, name).Scan(&cluster, last, forgotten)
	if errors.Is(err, sql.ErrNoRows) {
		return b.cluster(ctx, name)
	}
	b.clusters[name] = cluster
	return cluster, err
}

// keepSilences stores the gaps after a heartbeat that are long enough.
func (b *batch) keepSilences(ctx context.Context, cluster, last int64, gaps []relational.Gap) error {
	for _, g := range gaps {
		g.From = max(g.From, last)
		if g.From == 0 || g.To-g.From < ledger.MinSilence.Microseconds() {
			continue
		}
		if b.silence == 0 {
			if err := b.statement(ctx, queries.Get("findSilence")).QueryRowContext(ctx, ledger.DefaultSilence.Microseconds()).Scan(&b.silence); err != nil {
				return err
			}
		}
		if g.To-g.From < b.silence {
			continue
		}
		if err := b.exec(ctx, queries.Get("putSilence"), cluster, g.From, g.To); err != nil {
			return err
		}
	}
	return nil
}
