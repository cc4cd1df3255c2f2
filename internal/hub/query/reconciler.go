package query

import (
	"context"
	"fmt"
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

// maxEmpty is how many pages of the past are looked at while they have nothing that is wanted.
const maxEmpty = 100

// Reconcilers returns reconcilers in an order that lasts.
func (o *Observer) Reconcilers(ctx context.Context, q ReconcilersQuery) (Page[Reconciler], error) {
	page := Page[Reconciler]{Items: []Reconciler{}}
	after, err := q.place()
	if err != nil {
		return page, err
	}
	if err := o.checkNames(ctx, q); err != nil {
		return page, err
	}
	for range maxEmpty {
		states, err := o.Ledger.States(ctx, ledger.StateQuery{
			Environment: q.Environment, Cluster: q.Cluster, Workload: q.Workload, Repository: q.repository(), Ref: q.Branch,
			State: q.State, AsOf: q.AsOf, After: after, Limit: q.limit(),
		})
		if err != nil {
			return page, err
		}
		for _, s := range states.States {
			page.Items = append(page.Items, reconcilerOf(s))
		}
		after = states.Next
		if after == "" || len(page.Items) > 0 {
			break
		}
	}
	if after != "" {
		page.Next = cursor(after)
	}
	return page, nil
}

// repository is the one that is asked for as the ledger has it.
func (q *ReconcilersQuery) repository() string {
	if q.Repository == "" {
		return ""
	}
	return ledger.CleanRepository(q.Repository)
}

// checkNames says which of the names in a query nobody knows.
func (o *Observer) checkNames(ctx context.Context, q ReconcilersQuery) error {
	if q.State != "" && q.State.Severity() == 0 {
		return fmt.Errorf("%w: %q is no state; states are ready, progressing, suspended and failed", ledger.ErrInvalid, q.State)
	}
	if q.Environment != "" {
		if _, err := o.environment(ctx, "", q.Environment, q.AsOf); err != nil {
			return err
		}
	}
	if q.Cluster == "" {
		return nil
	}
	found, err := o.Ledger.Clusters(ctx, ledger.ClusterQuery{Name: q.Cluster, Limit: 1})
	if err == nil && len(found) == 0 {
		err = o.unknownIn(ctx, ledger.NameCluster, q.Cluster)
	}
	return err
}

// reconcilerOf is a state as it is shown.
func reconcilerOf(s ledger.ReconcilerState) Reconciler {
	return Reconciler{
		Cluster: s.Reconciler.Cluster, Kind: s.Reconciler.Kind, Namespace: s.Reconciler.Namespace, Name: s.Reconciler.Name,
		Environment: s.Environment, Outcome: s.Outcome, Since: utc(s.Since), Confirmed: utc(s.Confirmed), Received: utc(s.Received),
	}
}

func (r *Reconciler) key() string { return key(r.Cluster, r.Kind, r.Namespace, r.Name) }
