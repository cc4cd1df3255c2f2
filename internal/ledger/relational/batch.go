package relational

import (
	"context"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Batch is a transaction that stores reports. Each method gets all values at once, without duplicates.
type Batch interface {
	// Heard is called first. It stores the last heartbeat of each cluster if it is newer than the stored one, and the silences before.
	// It inserts clusters and locks them against other writers.
	Heard(ctx context.Context, heard map[string]Heartbeats) error
	// Sources returns the ids of sources, in their order. It inserts new ones.
	Sources(ctx context.Context, sources []ledger.Source) ([]int64, error)
	// Reconcilers returns the states of reconcilers, in their order.
	// It inserts new ones; their state has no outcome.
	Reconcilers(ctx context.Context, ids []ledger.ReconcilerID) ([]Current, error)
	// Facts stores facts. Of two with the same reconciler and time, the one with the greater outcome stays.
	// Then it deletes the facts within the spans in thin.
	Facts(ctx context.Context, facts []Fact, thin []Thin) error
	// States replaces states and stores followers.
	States(ctx context.Context, states []Current, followers []Follower) error
	// Settle recomputes Since of reconcilers: the first observation of their outcome without another outcome after it.
	Settle(ctx context.Context, reconcilers []int64) error
	// Outcomes is called last. It stores outcomes, and lowers FirstObserved of existing ones.
	// Then it applies moves to the numbers of reconcilers. Both are sorted by id.
	Outcomes(ctx context.Context, outcomes []OutcomeRow, moves []Move) error
}

// OutcomeRow is a stored outcome.
type OutcomeRow struct {
	ID, Source int64
	Revision   string
	Severity   int
	Message    string
	// Applied, Health (as a severity) and Unhealthy (as JSON, or empty) are those of [ledger.Outcome].
	Applied       string
	Health        int
	Unhealthy     string
	FirstObserved int64
}

// Move changes how many reconcilers are at an outcome.
type Move struct{ Outcome, Reconcilers int64 }

// Follower is a reconciler that follows or followed a source.
type Follower struct{ Source, Reconciler int64 }

// Database is an opened and migrated database.
type Database interface {
	// Batch runs do in a transaction, with the context for its calls. A transaction that the database ends because of others is begun
	// again, and do runs again.
	Batch(ctx context.Context, do func(context.Context, Batch) error) error
}

// SettleSince is the statement of Settle. An adapter appends the condition on the reconcilers: "= $1".
const SettleSince = `
UPDATE reconciler_state SET since = COALESCE((
    SELECT MIN(y.observed) FROM observation y
    WHERE y.reconciler_id = reconciler_state.reconciler_id AND y.observed > COALESCE((
        SELECT MAX(z.observed) FROM observation z
        WHERE z.reconciler_id = reconciler_state.reconciler_id
          AND z.outcome_id <> reconciler_state.outcome_id AND z.observed < reconciler_state.confirmed), -1)), confirmed)
WHERE reconciler_id`
