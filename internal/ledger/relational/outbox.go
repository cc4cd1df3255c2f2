package relational

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// The errors of messages that are given up without an attempt.
const (
	errAbandoned = "the receiver is no longer configured"
	errDropped   = "dropped, because too many newer messages wait"
)

// Subscribe implements [ledger.Outbox].
func (s *Store) Subscribe(ctx context.Context, receivers []string, now time.Time) error {
	if err := require("receiver", receivers...); err != nil {
		return err
	}
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		known, err := query(ctx, tx, scanText, `SELECT name FROM receiver`)
		if err != nil {
			return err
		}
		for _, name := range known {
			if slices.Contains(receivers, name) {
				continue
			}
			if _, err := tx.ExecContext(ctx, queries.Get("abandonMessages"), name, micros(now), errAbandoned); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, queries.Get("deleteReceiver"), name); err != nil {
				return err
			}
		}
		for _, name := range receivers {
			if _, err := tx.ExecContext(ctx, queries.Get("insertReceiver"), name, micros(now)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("subscribe receivers: %w", err)
	}
	return nil
}

// Queue implements [ledger.Outbox].
func (s *Store) Queue(ctx context.Context, b ledger.Batch) (done ledger.QueueResult, err error) {
	for _, m := range b.Messages {
		if err := require("message", m.Receiver, m.ID, string(m.Event)); err != nil {
			return done, err
		}
	}
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		full := map[string]bool{}
		for _, m := range b.Messages {
			n, err := rowsOf(tx.ExecContext(ctx, queries.Get("insertMessage"), m.Receiver, m.ID, micros(m.At), micros(b.Now), string(m.Event)))
			if err != nil {
				return err
			}
			done.Stored += n
			full[m.Receiver] = full[m.Receiver] || n > 0
		}
		for name, stored := range full {
			if !stored {
				continue
			}
			n, err := rowsOf(tx.ExecContext(ctx, queries.Get("dropMessages"), name, b.Limit, micros(b.Now), errDropped))
			if err != nil {
				return err
			}
			done.Dropped += n
		}
		_, err := tx.ExecContext(ctx, queries.Get("advanceReceivers"), micros(b.Through))
		return err
	})
	if err != nil {
		return ledger.QueueResult{}, fmt.Errorf("queue messages: %w", err)
	}
	return done, nil
}

// rowsOf returns how many rows a statement changed.
func rowsOf(result sql.Result, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// Claim implements [ledger.Outbox].
func (s *Store) Claim(ctx context.Context, receiver string, now, until time.Time) (m ledger.Message, err error) {
	find := queries.Get("dueMessage")
	if s.Lock != "" {
		find += s.Lock + " SKIP LOCKED" // another server has it
	}
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		var id string
		err := tx.QueryRowContext(ctx, find, receiver, micros(now)).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return ledger.ErrNotFound
		}
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, queries.Get("claimMessage"), receiver, id, micros(until)); err != nil {
			return err
		}
		m, err = scanMessage(tx.QueryRowContext(ctx, queries.Get("selectMessages")+" WHERE receiver = $1 AND id = $2", receiver, id))
		return err
	})
	if err != nil {
		return ledger.Message{}, fmt.Errorf("claim a message to %q: %w", receiver, err)
	}
	return m, nil
}

// Attempted implements [ledger.Outbox].
func (s *Store) Attempted(ctx context.Context, m ledger.Message) error {
	if err := checkText("message", m.Error); err != nil {
		return err
	}
	_, err := s.Write.ExecContext(ctx, queries.Get("finishMessage"), m.Receiver, m.ID, m.Attempts, string(m.State), micros(m.Due), micros(m.Finished), m.Error)
	if err != nil {
		return fmt.Errorf("store the attempt to send a message to %q: %w", m.Receiver, err)
	}
	return nil
}

// Messages implements [ledger.Outbox].
func (s *Store) Messages(ctx context.Context, q ledger.MessageQuery) ([]ledger.Message, error) {
	var w where
	w.text("receiver = ?", q.Receiver)
	w.text("state = ?", string(q.State))
	if q.Undelivered {
		w.add("state <> ?", string(ledger.MessageDelivered))
	}
	return read(ctx, s, "messages", scanMessage, queries.Get("selectMessages")+w.String()+" ORDER BY at DESC, id DESC, receiver"+limit(q.Limit), w.args...)
}

func scanMessage(row scanner) (m ledger.Message, err error) {
	var event string
	err = row.Scan(&m.Receiver, &m.ID, &m.State, &event, (*microTime)(&m.At), (*microTime)(&m.Queued), (*microTime)(&m.Due), &m.Attempts,
		(*microTime)(&m.Finished), &m.Error)
	m.Event = json.RawMessage(event)
	if m.State != ledger.MessagePending {
		m.Due = time.Time{}
	}
	return m, err
}

// Receivers implements [ledger.Outbox].
func (s *Store) Receivers(ctx context.Context) ([]ledger.Receiver, error) {
	all, err := read(ctx, s, "receivers", func(row scanner) (r ledger.Receiver, err error) {
		err = row.Scan(&r.Name, (*microTime)(&r.Since), (*microTime)(&r.Through), (*microTime)(&r.Due), &r.Pending, &r.Delivered, &r.Dead, &r.Dropped, &r.Error)
		return r, err
	}, queries.Get("selectReceivers"))
	slices.SortFunc(all, func(a, b ledger.Receiver) int { return cmp.Compare(a.Name, b.Name) })
	return all, err
}

// DeleteMessages implements [ledger.Outbox].
func (s *Store) DeleteMessages(ctx context.Context, before time.Time) (int64, error) {
	n, err := rowsOf(s.Write.ExecContext(ctx, queries.Get("deleteMessages"), micros(before)))
	if err != nil {
		return 0, fmt.Errorf("delete messages: %w", err)
	}
	return int64(n), nil
}
