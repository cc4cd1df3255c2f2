package relational

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// serially calls do in a transaction, one at a time among all servers, with the time of the database's clock.
//
// A server can be paused in the middle of it. The statement Serial limits how long the others wait then.
func (s *Store) serially(ctx context.Context, do func(tx *sql.Tx, now int64) error) error {
	return s.inTransaction(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, s.Serial); err != nil {
			return err
		}
		var now int64
		if err := tx.QueryRowContext(ctx, "SELECT "+s.Now).Scan(&now); err != nil {
			return err
		}
		return do(tx, now)
	})
}

// living removes the replicas whose lease expired, and returns the others.
func living(ctx context.Context, tx *sql.Tx, now int64) ([]ledger.Replica, error) {
	if _, err := tx.ExecContext(ctx, queries.Get("expireReplicas"), now); err != nil {
		return nil, err
	}
	return query(ctx, tx, scanReplica, queries.Get("selectReplicas")+" ORDER BY id")
}

func scanReplica(row scanner) (r ledger.Replica, err error) {
	var alone int
	err = row.Scan(&r.ID, &r.Name, &alone, (*microTime)(&r.Joined))
	r.Alone = alone != 0
	return r, err
}

// Join implements [ledger.Replicas].
func (s *Store) Join(ctx context.Context, r ledger.Replica, lease time.Duration, replace bool) error {
	if err := require("replica", r.ID, r.Name); err != nil {
		return err
	}
	err := s.serially(ctx, func(tx *sql.Tx, now int64) error {
		if replace {
			if _, err := tx.ExecContext(ctx, queries.Get("replaceReplica"), r.Name); err != nil {
				return err
			}
		}
		others, err := living(ctx, tx, now)
		if err != nil {
			return err
		}
		for _, other := range others {
			if other.Name == r.Name || other.Alone || r.Alone {
				return fmt.Errorf("%w: %q", ledger.ErrOccupied, other.Name)
			}
		}
		alone := 0
		if r.Alone {
			alone = 1
		}
		_, err = tx.ExecContext(ctx, queries.Get("insertReplica"), r.ID, r.Name, alone, now, now+lease.Microseconds())
		return err
	})
	if err != nil {
		return fmt.Errorf("join as %q: %w", r.Name, err)
	}
	return nil
}

// Renew implements [ledger.Replicas].
func (s *Store) Renew(ctx context.Context, id string, lease time.Duration) (all []ledger.Replica, err error) {
	err = s.serially(ctx, func(tx *sql.Tx, now int64) error {
		if all, err = living(ctx, tx, now); err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(r ledger.Replica) bool { return r.ID == id }) {
			return ledger.ErrLeaseLost
		}
		_, err = tx.ExecContext(ctx, queries.Get("renewReplica"), id, now+lease.Microseconds())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("renew the lease of %q: %w", id, err)
	}
	return all, nil
}

// Leave implements [ledger.Replicas].
func (s *Store) Leave(ctx context.Context, id string) error {
	if _, err := s.Write.ExecContext(ctx, queries.Get("deleteReplica"), id); err != nil {
		return fmt.Errorf("end the lease of %q: %w", id, err)
	}
	return nil
}

// ClaimUnit implements [ledger.Replicas].
func (s *Store) ClaimUnit(ctx context.Context, id, unit string) (h ledger.Hold, err error) {
	if err := require("unit", id, unit); err != nil {
		return h, err
	}
	err = s.serially(ctx, func(tx *sql.Tx, now int64) error {
		all, err := living(ctx, tx, now)
		if err != nil {
			return err
		}
		alive := func(id string) bool {
			return slices.ContainsFunc(all, func(r ledger.Replica) bool { return r.ID == id })
		}
		if !alive(id) {
			return ledger.ErrLeaseLost
		}
		if _, err := tx.ExecContext(ctx, queries.Get("insertUnit"), unit); err != nil {
			return err
		}
		h = ledger.Hold{Unit: unit, Replica: id}
		var holder string
		if err := tx.QueryRowContext(ctx, queries.Get("findUnit")+s.Lock, unit).Scan(&holder, &h.Number); err != nil {
			return err
		}
		switch {
		case holder == id:
			return nil
		case alive(holder):
			return ledger.ErrHeld
		}
		h.Number++
		_, err = tx.ExecContext(ctx, queries.Get("takeUnit"), unit, id, h.Number)
		return err
	})
	if err != nil {
		return ledger.Hold{}, fmt.Errorf("claim %q: %w", unit, err)
	}
	return h, nil
}

// YieldUnit implements [ledger.Replicas].
func (s *Store) YieldUnit(ctx context.Context, h ledger.Hold) error {
	if _, err := s.Write.ExecContext(ctx, queries.Get("yieldUnit"), h.Unit, h.Replica, h.Number); err != nil {
		return fmt.Errorf("yield %q: %w", h.Unit, err)
	}
	return nil
}

// Holds implements [ledger.Replicas].
func (s *Store) Holds(ctx context.Context) ([]ledger.Hold, error) {
	return read(ctx, s, "holds", func(row scanner) (h ledger.Hold, err error) {
		err = row.Scan(&h.Unit, &h.Replica, &h.Number)
		return h, err
	}, queries.Get("selectHolds"))
}

// checkHold returns an error if another replica has taken the unit of the context's hold, and otherwise prevents that until the
// transaction ends. Without a hold, there is nothing to check.
func (s *Store) checkHold(ctx context.Context, tx *sql.Tx) error {
	h, ok := ledger.HoldOf(ctx)
	if !ok {
		return nil
	}
	var number int64
	var replica string
	err := tx.QueryRowContext(ctx, s.Fence, h.Unit).Scan(&number, &replica)
	// After a failover that lost a claim, two replicas can have the same number.
	if other := number != h.Number || replica != "" && replica != h.Replica; err == nil && other || errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%w: %q", ledger.ErrFenced, h.Unit)
	}
	return err
}

// PutResult implements [ledger.Replicas].
func (s *Store) PutResult(ctx context.Context, h ledger.Hold, result []byte) error {
	if err := checkText("result", string(result)); err != nil {
		return err
	}
	ctx = ledger.Under(ctx, h)
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		if err := s.checkHold(ctx, tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, queries.Get("putResult"), h.Unit, string(result))
		return err
	})
	if err != nil {
		return fmt.Errorf("store the result of %q: %w", h.Unit, err)
	}
	return nil
}

// Result implements [ledger.Replicas].
func (s *Store) Result(ctx context.Context, unit string) ([]byte, error) {
	var result string
	err := s.Read.QueryRowContext(ctx, queries.Get("selectResult"), unit).Scan(&result)
	if errors.Is(err, sql.ErrNoRows) {
		err = ledger.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read the result of %q: %w", unit, err)
	}
	return []byte(result), nil
}

// Post implements [ledger.Replicas].
func (s *Store) Post(ctx context.Context, from string, notes ...string) error {
	if err := require("note", append(notes, from)...); err != nil || len(notes) == 0 {
		return err
	}
	err := s.serially(ctx, func(tx *sql.Tx, now int64) error {
		var last int64
		if err := tx.QueryRowContext(ctx, queries.Get("lastNote")).Scan(&last); err != nil {
			return err
		}
		for i, text := range notes {
			if _, err := tx.ExecContext(ctx, queries.Get("insertNote"), last+1+int64(i), now, from, text); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, queries.Get("deleteNotes"), now-ledger.NotesKept.Microseconds(), last)
		return err
	})
	if err != nil {
		return fmt.Errorf("post notes: %w", err)
	}
	return nil
}

// Notes implements [ledger.Replicas].
func (s *Store) Notes(ctx context.Context, after int64) (notes []ledger.Note, last int64, err error) {
	if after < 0 {
		if err := s.Read.QueryRowContext(ctx, queries.Get("lastNote")).Scan(&last); err != nil {
			return nil, 0, fmt.Errorf("read notes: %w", err)
		}
		return nil, last, nil
	}
	last = after
	notes, err = read(ctx, s, "notes", func(row scanner) (n ledger.Note, err error) {
		err = row.Scan(&last, &n.From, &n.Text)
		return n, err
	}, queries.Get("selectNotes"), after)
	if err != nil {
		return nil, after, err
	}
	return notes, last, nil
}

// Keep implements [ledger.Replicas].
func (s *Store) Keep(ctx context.Context, name, value string) (kept string, err error) {
	if err := require("shared secret", name, value); err != nil {
		return "", err
	}
	_, err = s.Write.ExecContext(ctx, queries.Get("insertSecret"), name, value)
	if err == nil {
		err = s.Write.QueryRowContext(ctx, queries.Get("findSecret"), name).Scan(&kept)
	}
	if err != nil {
		return "", fmt.Errorf("keep %q: %w", name, err)
	}
	return kept, nil
}

// NextNumber implements [ledger.Replicas].
func (s *Store) NextNumber(ctx context.Context, name string, least int64) (number int64, err error) {
	if err := require("number", name); err != nil {
		return 0, err
	}
	if err := s.Write.QueryRowContext(ctx, queries.Get("nextNumber"), name, least).Scan(&number); err != nil {
		return 0, fmt.Errorf("get the next number of %q: %w", name, err)
	}
	return number, nil
}
