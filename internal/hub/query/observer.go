package query

import (
	"context"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Observer answers questions about a fleet. Its methods may be called concurrently.
type Observer struct {
	// Ledger is what is on record. // required
	Ledger Ledger
	// Fleet is how things stood after the last rounds; nil where no rounds are made.
	Fleet Fleet
	// Now is the clock by which clusters are offline. // required
	Now func() time.Time
}

// Ledger is what an Observer reads. Every [ledger.Ledger] is one.
type Ledger interface {
	Running
	Wanting
	Members
	Past
	Delivery
	ledger.Overviews
}

// Running is what clusters run, and ran.
type Running interface {
	States(ctx context.Context, q ledger.StateQuery) (ledger.StatePage, error)
	Versions(ctx context.Context, q ledger.VersionQuery) ([]ledger.VersionState, error)
}

// Wanting is what GitOps repositories want.
type Wanting interface {
	Commits(ctx context.Context, q ledger.CommitQuery) ([]ledger.Commit, error)
}

// Members are the clusters, and what they are.
type Members interface {
	Clusters(ctx context.Context, q ledger.ClusterQuery) ([]ledger.Cluster, error)
}

// Past is what happened.
type Past interface {
	Transitions(ctx context.Context, q ledger.TransitionQuery) ([]ledger.Transition, error)
	Steps(ctx context.Context, q ledger.StepQuery) ([]ledger.Step, error)
	Promotions(ctx context.Context, q ledger.StepQuery) ([]ledger.Step, error)
	ChangeEvents(ctx context.Context, q ledger.ChangeQuery) ([]ledger.ChangeEvent, error)
	AuditEntries(ctx context.Context, q ledger.AuditQuery) ([]ledger.AuditEntry, error)
}

// Delivery is what the figures are made of.
type Delivery interface {
	Deployments(ctx context.Context, q ledger.DeploymentQuery) ([]ledger.Deployment, error)
	Incidents(ctx context.Context, q ledger.DeploymentQuery) ([]ledger.Incident, error)
}
