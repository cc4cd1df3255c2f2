package query

import (
	"context"
	"fmt"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Reconciler is a reconciler of a cluster and its state.
type Reconciler struct {
	Cluster   string `json:"cluster"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Environment is that of the GitOps branch it follows; empty while no commit of the branch is recorded.
	Environment string `json:"environment,omitempty"`
	ledger.Outcome
	// Since is when it entered this state.
	Since time.Time `json:"since,omitzero"`
	// Confirmed is when that was last observed, Received when the server received it. Both are zero in the past.
	Confirmed time.Time `json:"confirmed,omitzero"`
	Received  time.Time `json:"received,omitzero"`
}

// ReconcilersQuery selects reconcilers. Empty fields match all.
type ReconcilersQuery struct {
	Environment string       `query:"environment" maxLength:"253" doc:"Only reconcilers that follow a branch of this environment."`
	Cluster     string       `query:"cluster" maxLength:"253" doc:"Only reconcilers of this cluster."`
	Workload    string       `query:"workload" maxLength:"253" doc:"Only reconcilers that run this workload."`
	Repository  string       `query:"repository" maxLength:"2048" doc:"Only reconcilers that follow this repository."`
	Branch      string       `query:"branch" maxLength:"255" doc:"Only reconcilers that follow this branch."`
	State       ledger.State `query:"state" enum:"ready,progressing,suspended,failed" doc:"Only reconcilers in this state."`
	AsOf        time.Time    `query:"asOf" doc:"States at this time. Default: now. Pages of the past can have fewer items than the limit."`
	Paging
}

// maxEmpty is how many empty pages of the past are skipped.
const maxEmpty = 100

// Reconcilers returns reconcilers in a stable order.
func (o *Observer) Reconcilers(ctx context.Context, q ReconcilersQuery) (Page[Reconciler], error) {
	page := Page[Reconciler]{Items: []Reconciler{}}
	if err := o.knows(q.AsOf); err != nil {
		return page, err
	}
	after, err := q.Place()
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
		page.Next = Cursor(after)
	}
	return page, nil
}

// repository returns the repository in the spelling of the ledger.
func (q *ReconcilersQuery) repository() string {
	if q.Repository == "" {
		return ""
	}
	return ledger.CleanRepository(q.Repository)
}

// checkNames returns an error for an unknown name in a query.
func (o *Observer) checkNames(ctx context.Context, q ReconcilersQuery) error {
	if q.State != "" && q.State.Severity() == 0 {
		return fmt.Errorf("%w: unknown state %q; states are ready, progressing, suspended and failed", ledger.ErrInvalid, q.State)
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

// reconcilerOf converts a state for answers.
func reconcilerOf(s ledger.ReconcilerState) Reconciler {
	return Reconciler{
		Cluster: s.Reconciler.Cluster, Kind: s.Reconciler.Kind, Namespace: s.Reconciler.Namespace, Name: s.Reconciler.Name,
		Environment: s.Environment, Outcome: s.Outcome, Since: utc(s.Since), Confirmed: utc(s.Confirmed), Received: utc(s.Received),
	}
}

func (r *Reconciler) key() string { return names(r.Cluster, r.Kind, r.Namespace, r.Name) }
