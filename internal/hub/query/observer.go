package query

import (
	"context"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Observer answers queries about a fleet. Its methods may be called concurrently.
type Observer struct {
	// Ledger is the fleet's history. // required
	Ledger Ledger
	// Fleet is the state that the last rounds found; nil if this program does not run rounds.
	Fleet Fleet
	// Histories reads the histories of applications; nil if this program does not deliver any.
	Histories Histories
	// Now returns the current time, which decides which clusters are offline. // required
	Now func() time.Time

	explaining turns

	// visible is what the viewer sees; nil for all.
	visible *visible
	scopes  scopes
}

// Ledger is what an Observer reads. [ledger.Ledger] implements it.
type Ledger interface {
	Running
	Wanting
	Members
	Past
	Delivery
	ledger.Overviews
}

// Running returns what clusters run, and what they ran.
type Running interface {
	States(ctx context.Context, q ledger.StateQuery) (ledger.StatePage, error)
	Versions(ctx context.Context, q ledger.VersionQuery) ([]ledger.VersionState, error)
}

// Wanting returns what GitOps repositories contain.
type Wanting interface {
	Commit(ctx context.Context, repository, branch, sha string) (ledger.Commit, error)
	Commits(ctx context.Context, q ledger.CommitQuery) ([]ledger.Commit, error)
}

// Members returns the clusters and their memberships.
type Members interface {
	Clusters(ctx context.Context, q ledger.ClusterQuery) ([]ledger.Cluster, error)
}

// Past returns past events.
type Past interface {
	Transitions(ctx context.Context, q ledger.TransitionQuery) ([]ledger.Transition, error)
	Steps(ctx context.Context, q ledger.StepQuery) ([]ledger.Step, error)
	Promotions(ctx context.Context, q ledger.StepQuery) ([]ledger.Step, error)
	ChangeEvents(ctx context.Context, q ledger.ChangeQuery) ([]ledger.ChangeEvent, error)
	AuditEntries(ctx context.Context, q ledger.AuditQuery) ([]ledger.AuditEntry, error)
	Silences(ctx context.Context, q ledger.SilenceQuery) ([]ledger.Silence, error)
}

// Delivery returns what the figures are computed from.
type Delivery interface {
	Deployments(ctx context.Context, q ledger.DeploymentQuery) ([]ledger.Deployment, error)
	Incidents(ctx context.Context, q ledger.DeploymentQuery) ([]ledger.Incident, error)
}
