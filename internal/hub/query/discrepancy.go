package query

import (
	"context"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

// Discrepancy is a cluster that does not run what it should.
type Discrepancy struct {
	Environment string `json:"environment"`
	// Commit is the commit of the GitOps branch that it should run.
	Commit string `json:"commit"`
	comply.Reconciler
}

// DiscrepanciesQuery selects discrepancies. Empty fields match all.
type DiscrepanciesQuery struct {
	Environment string       `query:"environment" maxLength:"253" doc:"Only discrepancies in this environment."`
	Cluster     string       `query:"cluster" maxLength:"253" doc:"Only discrepancies of this cluster."`
	ClusterType string       `query:"clusterType" maxLength:"253" doc:"Only discrepancies of this cluster type."`
	State       comply.State `query:"state" enum:"behind,failed,offline,missing" doc:"Only discrepancies in this state."`
	AsOf        time.Time    `query:"asOf" doc:"Discrepancies at this time. Default: now."`
	// Workload selects the reconcilers of the workload's manifests instead of those of the platform branch.
	Workload string
	Paging
}

// Discrepancies returns the clusters that do not run what they should, since when and why,
// by environment, cluster and cluster type.
func (o *Observer) Discrepancies(ctx context.Context, q DiscrepanciesQuery) (Page[Discrepancy], error) {
	page := Page[Discrepancy]{Items: []Discrepancy{}}
	if err := o.knows(q.AsOf); err != nil {
		return page, err
	}
	selected, err := o.selected(ctx, q.Environment, q.AsOf)
	if err != nil {
		return page, err
	}
	v := o.verdicts(q.AsOf)
	var all []Discrepancy
	for _, s := range selected {
		verdicts, err := v.selectedVerdicts(ctx, s, q.Workload)
		if err != nil {
			return page, err
		}
		for _, verdict := range verdicts {
			for _, r := range verdict.Reconcilers {
				if q.wants(&r) {
					all = append(all, Discrepancy{Environment: s.name, Commit: verdict.Commit, Reconciler: r})
				}
			}
		}
	}
	if q.Workload != "" && len(all) == 0 {
		return page, o.noVersions(ctx, q.Workload)
	}
	if q.Cluster != "" && len(all) == 0 {
		if err := o.registered(ctx, ledger.NameCluster, q.Cluster); err != nil {
			return page, err
		}
	}
	return cut(all, q.Paging, func(d *Discrepancy) string { return names(d.Environment, d.Cluster, d.ClusterType, d.Target) })
}

// selectedVerdicts returns the verdict on an environment, or on each target of a workload there.
func (v *verdicts) selectedVerdicts(ctx context.Context, s standing, workload string) ([]comply.Verdict, error) {
	if workload != "" {
		return v.ofWorkload(ctx, s, workload)
	}
	verdict, err := v.verdict(ctx, s)
	return []comply.Verdict{verdict}, err
}

// ofWorkload judges the reconcilers of the workload's manifests. It skips targets whose branch is not recorded.
func (v *verdicts) ofWorkload(ctx context.Context, s standing, workload string) ([]comply.Verdict, error) {
	sc, err := v.environmentView(ctx, s, targetFilter{workload: workload}, v.asOf)
	if err != nil {
		return nil, err
	}
	clusters, err := v.Ledger.Clusters(ctx, ledger.ClusterQuery{Environment: s.name, AsOf: v.asOf})
	if err != nil {
		return nil, err
	}
	members, err := v.membersOf(ctx, clusters)
	if err != nil {
		return nil, err
	}
	var all []comply.Verdict
	for _, p := range sc.statuses {
		head := sc.headOf(p.source)
		if head == nil {
			continue
		}
		hashes, err := v.recorded(ctx, head)
		if err != nil {
			return nil, err
		}
		states, err := v.Ledger.States(ctx, ledger.StateQuery{Repository: head.Repository, Ref: head.Branch, AsOf: v.asOf})
		if err != nil {
			return nil, err
		}
		expected := comply.ExpectTargets(members, s.name, []comply.Target{p.expectation()})
		all = append(all, v.judgeStates(comply.Question{Commit: head.SHA, History: comply.HistoryOf(hashes), Expected: expected}, states.States))
	}
	return all, nil
}

// headOf returns the head of a source's branch; nil if it is not recorded.
func (sc *environmentView) headOf(source ledger.Source) *ledger.Commit {
	for i := range sc.heads {
		if h := &sc.heads[i]; h.Repository == source.Repository && h.Branch == source.Ref {
			return h
		}
	}
	return nil
}

// expectation converts a target for package comply.
func (p *targetStatus) expectation() comply.Target {
	t := comply.Target{Name: p.name, Source: p.source}
	for _, a := range p.assignments {
		if a.isPublished() {
			t.ClusterTypes = append(t.ClusterTypes, a.clusterType)
		}
	}
	return t
}

// wants reports whether a reconciler is a discrepancy that matches the query.
func (q *DiscrepanciesQuery) wants(r *comply.Reconciler) bool {
	return r.State != comply.Reached && (q.State == "" || q.State == r.State) &&
		(q.Cluster == "" || q.Cluster == r.Cluster) && (q.ClusterType == "" || q.ClusterType == r.ClusterType)
}
