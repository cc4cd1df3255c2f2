package observing

import (
	"context"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Reconciler is a reconciler of a cluster and what it is doing.
type Reconciler struct {
	Cluster   string `json:"cluster"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Environment is the one whose GitOps branch it follows; empty while no commit of the branch is recorded.
	Environment string `json:"environment,omitempty"`
	ledger.Outcome
	// Since is when it came into this state.
	Since time.Time `json:"since,omitzero"`
	// Confirmed is when that was last observed, Received when we heard of it. Both are zero in the past.
	Confirmed time.Time `json:"confirmed,omitzero"`
	Received  time.Time `json:"received,omitzero"`
}

// ReconcilersQuery says which reconcilers are wanted. Empty fields do not restrict.
type ReconcilersQuery struct {
	Environment string
	Cluster     string
	Workload    string
	Repository  string
	Branch      string
	State       ledger.State
	// AsOf is the time of which the states are wanted; zero means now. Then pages may have fewer items than there is room for.
	AsOf time.Time
	Paging
}

// Reconcilers returns reconcilers in an order that lasts.
func (o *Observer) Reconcilers(ctx context.Context, q ReconcilersQuery) (Page[Reconciler], error) {
	return Page[Reconciler]{Items: []Reconciler{}}, nil
}
