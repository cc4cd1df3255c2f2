package relational

import (
	"context"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Batch is a transaction that takes reports. Every method is given all of its kind at once, without repetitions.
type Batch interface {
	// Heard comes first. It stores heartbeats that are newer than the stored ones, in microseconds.
	// Clusters are made, and kept from other writers.
	Heard(ctx context.Context, heard map[string]int64) error
	// Sources returns the ids of sources, in their order. New ones are made.
	Sources(ctx context.Context, sources []ledger.Source) ([]int64, error)
	// Reconcilers returns the states of reconcilers, in their order.
	// New ones are made; their state has no outcome.
	Reconcilers(ctx context.Context, ids []ledger.ReconcilerID) ([]Current, error)
	// Outcomes stores outcomes. Of those that are stored, FirstObserved may become less.
	// Then it adds to the numbers of reconcilers that are at outcomes. Both come by id.
	Outcomes(ctx context.Context, outcomes []OutcomeRow, moves []Move) error
	// Facts stores facts. Of two of one reconciler and time, the one with the greater outcome stays.
	// Then it forgets the facts within spans of time in which nothing happened.
	Facts(ctx context.Context, facts []Fact, thin []Thin) error
	// States replaces states, and notes who follows which source; followers has all pairs.
	States(ctx context.Context, states []Current, followers []Follower) error
	// Settle finds Since anew for the states of reconcilers: the first observation of their outcome with no other one after it.
	Settle(ctx context.Context, reconcilers []int64) error
}

// OutcomeRow is an outcome as it is stored.
type OutcomeRow struct {
	ID, Source    int64
	Revision      string
	Severity      int
	Message       string
	FirstObserved int64
}

// Move is by how many reconcilers an outcome has more, or less.
type Move struct{ Outcome, Reconcilers int64 }

// Follower is a reconciler that follows a source, or did.
type Follower struct{ Source, Reconciler int64 }

// Database is an opened and migrated database.
type Database interface {
	// Batch runs do in a transaction, completely or not at all.
	Batch(ctx context.Context, do func(Batch) error) error
}

// SettleSince is the update that Settle makes; an adapter adds which reconcilers: "= $1".
const SettleSince = `
UPDATE reconciler_state SET since = COALESCE((
    SELECT MIN(y.observed) FROM observation y
    WHERE y.reconciler_id = reconciler_state.reconciler_id AND y.observed > COALESCE((
        SELECT MAX(z.observed) FROM observation z
        WHERE z.reconciler_id = reconciler_state.reconciler_id
          AND z.outcome_id <> reconciler_state.outcome_id AND z.observed < reconciler_state.confirmed), -1)), confirmed)
WHERE reconciler_id`
