package operator

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Tenants opens the connections of control planes.
type Tenants interface {
	// Open returns the tenant of a control plane. It returns the same one, with its caches, while the access is the same. The error is a
	// [ErrNotAllowed] if the operator's configuration does not allow a URL of the access.
	Open(access Access) (Tenant, error)
	// Forget closes the tenant of a control plane that was deleted, and removes its caches.
	Forget(name types.NamespacedName)
}

// Tenant runs the rounds of one control plane, with its own connections.
type Tenant interface {
	// Environments returns the names of the control plane's environments. before are those that it had: they stay if documents cannot be read
	// that may be theirs.
	Environments(ctx context.Context, documents *Documents, before []string) ([]string, error)
	// Round brings the pull request of an environment up to date. documents are nil for a control plane in a repository.
	Round(ctx context.Context, documents *Documents, environment string) (*schedule.Outcome, error)
	// Promote runs a round of promotion, by the results of the last rounds of the environments. The error is an [ErrLedger] if the ledger cannot be
	// used, and an [ErrNotAllowed] if its address is not allowed. The outcome is not nil if only some environments have an error.
	Promote(ctx context.Context) (*promote.Outcome, error)
	// Deliver runs a round of each application that the control plane registers, by the results of the last rounds and after [Tenant.Promote]. It
	// returns what it knows also if the context ends: the next call goes on with the others.
	Deliver(ctx context.Context) (Deliveries, error)
	// PlanPullRequests posts on the open pull requests of a control plane in a repository what they change. Those that it has planned at the same
	// head and base are left out. It returns what it knows also if the context ends: the next call goes on with the others.
	PlanPullRequests(ctx context.Context) (PullRequests, error)
}

// PullRequests are the open pull requests of a control plane.
type PullRequests struct {
	// Planned is how many have the plan of their head, NotPlanned how many come from forks that are not read, and Left for how many the time
	// was too short.
	Planned, NotPlanned, Left int
	// Failed are those that could not be planned, each with the reason.
	Failed []string
	// Did lists what was done, in order.
	Did []string
}

// Deliveries are the applications of a control plane.
type Deliveries struct {
	// Applications are those that have had a round, in any order. Left is for how many the time was too short.
	Applications []*query.Application
	Left         int
	// Problems are registrations that cannot be read.
	Problems []string
	// Did lists what was done, in order.
	Did []string
	// Next is when another round is needed without an event; zero for never.
	Next time.Time
}

// Wake sets Next, unless another round is needed before. A zero time does nothing.
func (d *Deliveries) Wake(at time.Time) {
	if !at.IsZero() && (d.Next.IsZero() || at.Before(d.Next)) {
		d.Next = at
	}
}

// Access is what a control plane is read and written with.
type Access struct {
	Name types.NamespacedName // required
	// UID tells a control plane from a later one with the same name. // required
	UID  types.UID
	Spec v1alpha1.ControlPlaneSpec // required
	// Token is for the forge. // required
	Token secret.Value
	// User and Password are for the control plane repository. Without a password, the token is used.
	User     string
	Password secret.Value
	// Ledger is the URL of the ledger; empty without one.
	Ledger secret.Value
	// Wake requests another round, after a verification has ended. It must not block. Optional.
	Wake func()
}

var (
	// ErrNotAllowed means that the operator's configuration does not allow a URL.
	ErrNotAllowed = errors.New("the operator does not allow this address")
	// ErrLedger means that a ledger cannot be used.
	ErrLedger = errors.New("the ledger cannot be used")
)
