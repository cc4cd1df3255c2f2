package query

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// Assignment is a target on a cluster type.
type Assignment struct {
	Environment string `json:"environment"`
	ClusterType string `json:"clusterType"`
	Target      string `json:"target"`
	Workload    string `json:"workload,omitempty"`
	Workspace   string `json:"workspace,omitempty"`
	// Policies select the pair; empty if only the ledger is known.
	Policies []string `json:"policies,omitempty"`
	// Held is why it keeps its published files; absent if it does not.
	Held *fleet.Problem `json:"held,omitempty"`
	// Pending is what the open pull request does to it: added, changed or removed. An added one does not run yet.
	Pending plan.Op `json:"pending,omitempty"`
	// States counts the clusters of the type by state.
	States StateCounts `json:"states"`
}

// StateCounts are numbers of reconcilers by their last reported state, including those of clusters that are offline now.
type StateCounts struct {
	// Expected is how many clusters should run it.
	Expected    int `json:"expected"`
	Ready       int `json:"ready"`
	Progressing int `json:"progressing"`
	Suspended   int `json:"suspended"`
	Failed      int `json:"failed"`
	// Missing is how many clusters report nothing about it; 0 if the source is unknown.
	Missing int `json:"missing"`
}

// AssignmentsQuery selects assignments. Other empty fields match all.
type AssignmentsQuery struct {
	Environment  string    `query:"environment" required:"true" maxLength:"253" doc:"Name of the environment."` // required
	ControlPlane string    `query:"controlPlane" maxLength:"2048" doc:"URL of the control plane; required only if several have an environment of this name."`
	ClusterType  string    `query:"clusterType" maxLength:"253" doc:"Only assignments to this cluster type."`
	Target       string    `query:"target" maxLength:"253" doc:"Only assignments of this target."`
	Workload     string    `query:"workload" maxLength:"253" doc:"Only assignments of this workload."`
	Workspace    string    `query:"workspace" maxLength:"253" doc:"Only assignments of this workspace."`
	AsOf         time.Time `query:"asOf" doc:"Assignments at this time. Default: now. For the past, states only have the expected number of clusters."`
	Paging
}

// Matrix is a page of an environment's targets with all its cluster types.
type Matrix struct {
	Environment string `json:"environment"`
	// Columns are the cluster types, by name.
	Columns []Column `json:"columns"`
	// Rows are targets, by name.
	Rows []Row `json:"rows"`
	// Next is Paging.After of the next page; empty on the last one.
	Next string `json:"next,omitempty"`
}

// NextPage returns Next.
func (m Matrix) NextPage() string { return m.Next }

// Column is a cluster type of a matrix.
type Column struct {
	ClusterType string `json:"clusterType"`
	Clusters    int    `json:"clusters"`
}

// Row is a target of a matrix.
type Row struct {
	Target    string `json:"target"`
	Workload  string `json:"workload,omitempty"`
	Workspace string `json:"workspace,omitempty"`
	// Wanted is the version that should run; empty if unknown.
	Wanted string `json:"wanted,omitempty"`
	// Running are the versions that run.
	Running []VersionCount `json:"running"`
	// Pin is set for a target that keeps a revision, or is uninstalled; absent if it follows its environment, or that is unknown.
	Pin *deliver.PinnedTarget `json:"pin,omitempty"`
	// Cells are its assignments, in the order of the columns.
	Cells []Cell `json:"cells"`
}

// Cell is an assignment in a matrix.
type Cell struct {
	ClusterType string      `json:"clusterType"`
	Held        bool        `json:"held,omitempty"`
	Pending     plan.Op     `json:"pending,omitempty"`
	States      StateCounts `json:"states"`
}

// Assignments returns the assignments of an environment by target and cluster type.
func (o *Observer) Assignments(ctx context.Context, q AssignmentsQuery) (Page[Assignment], error) {
	page := Page[Assignment]{Items: []Assignment{}}
	sc, err := o.assigned(ctx, q)
	if err != nil {
		return page, err
	}
	type item struct {
		*targetStatus
		index int
	}
	var all []item
	for i := range sc.statuses {
		for n, a := range sc.statuses[i].assignments {
			if q.ClusterType == "" || q.ClusterType == a.clusterType {
				all = append(all, item{&sc.statuses[i], n})
			}
		}
	}
	chosen, err := cut(all, q.Paging, func(i *item) string { return names(i.name, i.assignments[i.index].clusterType) })
	if err != nil {
		return page, err
	}
	var targets []*targetStatus
	for _, i := range chosen.Items {
		targets = append(targets, i.targetStatus)
	}
	cells, err := o.allCells(ctx, sc, slices.Compact(targets))
	if err != nil {
		return page, err
	}
	for _, i := range chosen.Items {
		a := i.assignments[i.index]
		page.Items = append(page.Items, Assignment{
			Environment: sc.name, ClusterType: a.clusterType, Target: i.name, Workload: i.workload, Workspace: i.workspace,
			Policies: a.policies, Held: a.held, Pending: a.pending, States: cells[i.targetStatus][i.index],
		})
	}
	page.Next = chosen.Next
	return page, nil
}

// Matrix returns the assignments of an environment as a table. The limit of a page is a number of targets.
func (o *Observer) Matrix(ctx context.Context, q AssignmentsQuery) (Matrix, error) {
	m := Matrix{Environment: q.Environment, Columns: []Column{}, Rows: []Row{}}
	sc, err := o.assigned(ctx, q)
	if err != nil {
		return m, err
	}
	for _, name := range sc.clusterTypeNames() {
		if q.ClusterType == "" || q.ClusterType == name {
			m.Columns = append(m.Columns, Column{ClusterType: name, Clusters: sc.members[name]})
		}
	}
	chosen, err := cut(sc.statuses, q.Paging, func(p *targetStatus) string { return names(p.name) })
	if err != nil {
		return m, err
	}
	var targets []*targetStatus
	for i := range chosen.Items {
		targets = append(targets, &chosen.Items[i])
	}
	cells, err := o.allCells(ctx, sc, targets)
	if err != nil {
		return m, err
	}
	for _, p := range targets {
		m.Rows = append(m.Rows, p.row(q.ClusterType, cells[p]))
	}
	m.Next = chosen.Next
	return m, nil
}

func (p *targetStatus) row(clusterType string, states []StateCounts) Row {
	r := Row{Target: p.name, Workload: p.workload, Workspace: p.workspace, Running: p.versions(), Pin: p.pin, Cells: []Cell{}}
	if p.wanted != nil {
		r.Wanted = p.wanted.Version
	}
	for i, a := range p.assignments {
		if clusterType == "" || clusterType == a.clusterType {
			r.Cells = append(r.Cells, Cell{ClusterType: a.clusterType, Held: a.held != nil, Pending: a.pending, States: states[i]})
		}
	}
	return r
}

// assigned returns the environment of a query about assignments.
func (o *Observer) assigned(ctx context.Context, q AssignmentsQuery) (*environmentView, error) {
	if err := o.knows(q.AsOf); err != nil {
		return nil, err
	}
	s, err := o.oneEnvironment(ctx, q.ControlPlane, q.Environment, q.AsOf)
	if err != nil {
		return nil, err
	}
	return o.environmentView(ctx, s, targetFilter{target: q.Target, workload: q.Workload, workspace: q.Workspace, clusterType: q.ClusterType}, q.AsOf)
}

// counters is how many targets are counted concurrently.
const counters = 4

// allCells counts the clusters of all assignments of targets.
func (o *Observer) allCells(ctx context.Context, sc *environmentView, targets []*targetStatus) (map[*targetStatus][]StateCounts, error) {
	counts := make([][]StateCounts, len(targets))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(counters)
	for i, p := range targets {
		group.Go(func() (err error) {
			counts[i], err = o.cells(ctx, sc, p)
			return err
		})
	}
	err := group.Wait()
	cells := make(map[*targetStatus][]StateCounts, len(targets))
	for i, p := range targets {
		cells[p] = counts[i]
	}
	return cells, err
}
