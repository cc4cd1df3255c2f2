package postgres

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kalypso-io/kalypso/internal/ledger/postgrestest"
	"github.com/kalypso-io/kalypso/internal/ledger/relational"
)

// TestDeadlock: two batches that wait for each other are both stored, one after the other.
func TestDeadlock(t *testing.T) {
	server := postgrestest.Start(t)
	pool, err := pgxpool.New(t.Context(), server.Create(t, "deadlock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	d := &database{pool}

	var both sync.WaitGroup // have locked their first row
	both.Add(2)
	attempts, errs := [2]int{}, [2]error{}
	var wait sync.WaitGroup
	for i := range 2 {
		wait.Go(func() {
			errs[i] = d.Batch(t.Context(), func(ctx context.Context, some relational.Batch) error {
				tx := some.(*batch).tx
				if _, err := tx.Exec(ctx, fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", i)); err != nil {
					return err
				}
				if attempts[i]++; attempts[i] == 1 {
					both.Done()
					both.Wait()
				}
				_, err := tx.Exec(ctx, fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", 1-i))
				return err
			})
		})
	}
	wait.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("batch %d after %d attempts: %v", i, attempts[i], err)
		}
	}
	if attempts[0]+attempts[1] != 3 {
		t.Errorf("got %v attempts, want that one batch has two", attempts)
	}
}
