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
	page := Page[Discrepancy]{Items: []Discrepancy{}}
	selected, err := o.selected(ctx, q.Environment, q.AsOf)
	if err != nil {
		return page, err
	}
	v := o.verdicts(q.AsOf)
	var all []Discrepancy
	for _, s := range selected {
		verdict, err := v.verdict(ctx, s)
		if err != nil {
			return page, err
		}
		for _, r := range verdict.Reconcilers {
			if q.wants(&r) {
				all = append(all, Discrepancy{Environment: s.name, Commit: verdict.Commit, Reconciler: r})
			}
		}
	}
	return cut(all, q.Paging, func(d *Discrepancy) string { return key(d.Environment, d.Cluster, d.ClusterType, d.Target) })
}

// wants reports whether a reconciler is a discrepancy, and one that is asked for.
func (q *DiscrepanciesQuery) wants(r *compliance.Reconciler) bool {
	return r.State != compliance.Reached && (q.State == "" || q.State == r.State) &&
		(q.Cluster == "" || q.Cluster == r.Cluster) && (q.ClusterType == "" || q.ClusterType == r.ClusterType)
}
