package relational

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Entries implements [ledger.Archive].
func (s *Store) Entries(ctx context.Context, yield func(ledger.Entry) error) error {
	steps := []func(context.Context, func(ledger.Entry) error) error{
		s.registrationEntries, s.commitEntries, s.reportEntries, s.heartbeatEntries, s.recordEntries,
	}
	for _, step := range steps {
		if err := step(ctx, yield); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) registrationEntries(ctx context.Context, yield func(ledger.Entry) error) error {
	registrations, err := s.registrations(ctx, where{})
	if err := give(registrations, err, yield, func(r *ledger.Registration) ledger.Entry { return ledger.Entry{Registration: r} }); err != nil {
		return err
	}
	tokens, err := s.Tokens(ctx)
	return give(tokens, err, yield, func(t *ledger.Token) ledger.Entry { return ledger.Entry{Token: t} })
}

// give passes values to yield as entries, unless err is set.
func give[T any](all []T, err error, yield func(ledger.Entry) error, entry func(*T) ledger.Entry) error {
	if err != nil {
		return err
	}
	for _, one := range all {
		if err := yield(entry(&one)); err != nil {
			return err
		}
	}
	return nil
}

const commitOrder = ` ORDER BY b.repository, b.ref, g.number`

// commitEntries yields the commits of each branch in order, and the head again if it is not the last one.
func (s *Store) commitEntries(ctx context.Context, yield func(ledger.Entry) error) error {
	rows, err := query(ctx, s.Read, scanCommit, queries.Get("selectCommits")+commitOrder)
	if err != nil {
		return err
	}
	heads, err := s.heads(ctx)
	if err != nil {
		return err
	}
	head := map[int64]ledger.Commit{}
	for i, row := range rows {
		if err := s.fill(ctx, &row); err != nil {
			return err
		}
		if err := yield(ledger.Entry{Commit: &row.Commit}); err != nil {
			return err
		}
		if row.number == heads[row.branch] {
			head[row.branch] = row.Commit
		}
		last := i+1 == len(rows) || rows[i+1].branch != row.branch
		if again := head[row.branch]; last && again.SHA != row.SHA {
			again.Assignments, again.Versions = nil, nil
			if err := yield(ledger.Entry{Commit: &again}); err != nil {
				return err
			}
		}
	}
	return nil
}

// heads returns the number of the head of each branch.
func (s *Store) heads(ctx context.Context) (map[int64]int64, error) {
	heads := map[int64]int64{}
	_, err := query(ctx, s.Read, func(row scanner) (struct{}, error) {
		var branch, head int64
		err := row.Scan(&branch, &head)
		heads[branch] = head
		return struct{}{}, err
	}, `SELECT id, head FROM branch`)
	return heads, err
}

func (s *Store) reportEntries(ctx context.Context, yield func(ledger.Entry) error) error {
	after := ""
	for {
		names, err := query(ctx, s.Read, scanText, queries.Get("someClusters"), after)
		if err != nil || len(names) == 0 {
			return err
		}
		last := names[len(names)-1]
		facts, err := query(ctx, s.Read, scanObservation, queries.Get("selectFacts"), after, last)
		if err != nil {
			return err
		}
		for i, f := range facts {
			if i > 0 && i+1 < len(facts) && f.repeats(facts[i-1]) && f.repeats(facts[i+1]) {
				continue // only the first and the last of equal observations matter
			}
			report := ledger.Report{Reconciler: f.Reconciler, Outcome: f.Outcome, Observed: f.At, Received: f.Received}
			if err := yield(ledger.Entry{Report: &report}); err != nil {
				return err
			}
		}
		after = last
	}
}

// heartbeatEntries yields heartbeats, silences and clocks.
func (s *Store) heartbeatEntries(ctx context.Context, yield func(ledger.Entry) error) error {
	heartbeats, err := query(ctx, s.Read, scanHeartbeat, queries.Get("selectHeartbeats"))
	if err := give(heartbeats, err, yield, func(h *ledger.Heartbeat) ledger.Entry { return ledger.Entry{Heartbeat: h} }); err != nil {
		return err
	}
	silences, err := query(ctx, s.Read, scanSilence, queries.Get("selectSilences")+" ORDER BY c.name, x.from_time")
	if err := give(silences, err, yield, func(s *ledger.Silence) ledger.Entry { return ledger.Entry{Silence: s} }); err != nil {
		return err
	}
	clocks, err := query(ctx, s.Read, scanClock, queries.Get("selectClock")+" ORDER BY c.name, k.noted")
	return give(clocks, err, yield, func(c *ledger.Clock) ledger.Entry { return ledger.Entry{Clock: c} })
}

// recordEntries yields steps, changes and audit entries, the oldest first.
func (s *Store) recordEntries(ctx context.Context, yield func(ledger.Entry) error) error {
	steps, err := query(ctx, s.Read, scanStep, queries.Get("selectSteps")+" ORDER BY s.at, s.id")
	if err := give(steps, err, yield, func(s *ledger.Step) ledger.Entry { return ledger.Entry{Step: s} }); err != nil {
		return err
	}
	changes, err := query(ctx, s.Read, scanChange, queries.Get("selectChanges")+" ORDER BY at, id")
	if err := give(changes, err, yield, func(e *ledger.ChangeEvent) ledger.Entry { return ledger.Entry{Change: e} }); err != nil {
		return err
	}
	audit, err := query(ctx, s.Read, scanAudit, queries.Get("selectAudit")+" ORDER BY at, id")
	return give(audit, err, yield, func(e *ledger.AuditEntry) ledger.Entry { return ledger.Entry{Audit: e} })
}

// compactedAtOnce is the number of reconcilers whose facts one transaction deletes. Reports wait for it.
const compactedAtOnce = 1000

// deletion is a statement that deletes rows.
type deletion struct {
	statement string
	args      []any
}

// Compact implements [ledger.Archive].
func (s *Store) Compact(ctx context.Context, c ledger.Compaction) (removed int64, err error) {
	before := micros(c.Before)
	for after := int64(0); ; {
		var until int64
		if err := s.Read.QueryRowContext(ctx, queries.Get("nextReconcilers"), after, compactedAtOnce).Scan(&until); err != nil {
			return removed, fmt.Errorf("compact ledger: %w", err)
		}
		if until == after {
			break
		}
		facts := []deletion{{"deleteConfirmations", []any{before, after, until}}}
		if c.Drop {
			facts = append(facts, deletion{"deleteTransitions", []any{before, after, until, ledger.KeptRevisions}})
		}
		n, err := s.delete(ctx, facts)
		removed += n
		if err != nil {
			return removed, fmt.Errorf("compact ledger: %w", err)
		}
		after = until
	}
	others := []deletion{{"deleteSessions", []any{before}}}
	if c.Drop {
		others = append(others, deletion{"deleteOutcomes", []any{before}}, deletion{"deleteSilences", []any{before}})
	}
	n, err := s.delete(ctx, others)
	if err != nil {
		err = fmt.Errorf("compact ledger: %w", err)
	}
	return removed + n, err
}

// delete executes statements in one transaction, and returns how many rows they deleted.
func (s *Store) delete(ctx context.Context, all []deletion) (removed int64, err error) {
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		removed = 0
		if _, err := tx.ExecContext(ctx, s.Exclusive); err != nil {
			return err
		}
		for _, d := range all {
			result, err := tx.ExecContext(ctx, queries.Get(d.statement), d.args...)
			if err != nil {
				return err
			}
			n, err := result.RowsAffected()
			if err != nil {
				return err
			}
			removed += n
		}
		return nil
	})
	return removed, err
}
