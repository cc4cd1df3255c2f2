package query

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

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
	// Policies are those that select the pair; empty where only the ledger is asked.
	Policies []string `json:"policies,omitempty"`
	// Held is why its files stay as they are; absent when they do not.
	Held *fleet.Problem `json:"held,omitempty"`
	// Pending is what the open change does to it: added, changed or removed. One that is only added runs nowhere yet.
	Pending plan.Op `json:"pending,omitempty"`
	// States is how the clusters of the type are doing with it.
	States StateCounts `json:"states"`
}

// StateCounts are numbers of reconcilers by state, as they were reported last: also by clusters that are offline by now.
type StateCounts struct {
	// Expected is how many clusters there are that should run it.
	Expected    int `json:"expected"`
	Ready       int `json:"ready"`
	Progressing int `json:"progressing"`
	Suspended   int `json:"suspended"`
	Failed      int `json:"failed"`
	// Missing is how many clusters report nothing about it; 0 where nobody knows what they would have to follow.
	Missing int `json:"missing"`
}

// AssignmentsQuery says which assignments are wanted. Other empty fields do not restrict.
type AssignmentsQuery struct {
	Environment string // required
	// ControlPlane tells environments of one name apart.
	ControlPlane string
	ClusterType  string
	Target       string
	Workload     string
	Workspace    string
	// AsOf is the time of which they are wanted; zero means now. Of the past it is known what was assigned, and how many clusters
	// there were, but not how they were doing with it: of the states, only Expected is set.
	AsOf time.Time
	Paging
}

// Matrix is one page of the targets of an environment with all its cluster types.
type Matrix struct {
	Environment string `json:"environment"`
	// Columns are the cluster types, by name.
	Columns []Column `json:"columns"`
	// Rows are targets, by name.
	Rows []Row `json:"rows"`
	// Next is Paging.After of the next page; empty on the last one.
	Next string `json:"next,omitempty"`
}

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
	// Wanted is the version that should run; empty when that is not known.
	Wanted string `json:"wanted,omitempty"`
	// Running are the versions that do.
	Running []VersionCount `json:"running"`
	// Cells are the cluster types that it is assigned to, in the order of the columns.
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
		*placed
		index int
	}
	var all []item
	for i := range sc.placed {
		for n, a := range sc.placed[i].assignments {
			if q.ClusterType == "" || q.ClusterType == a.clusterType {
				all = append(all, item{&sc.placed[i], n})
			}
		}
	}
	chosen, err := cut(all, q.Paging, func(i *item) string { return key(i.name, i.assignments[i.index].clusterType) })
	if err != nil {
		return page, err
	}
	var targets []*placed
	for _, i := range chosen.Items {
		targets = append(targets, i.placed)
	}
	cells, err := o.allCells(ctx, sc, slices.Compact(targets))
	if err != nil {
		return page, err
	}
	for _, i := range chosen.Items {
		a := i.assignments[i.index]
		page.Items = append(page.Items, Assignment{
			Environment: sc.name, ClusterType: a.clusterType, Target: i.name, Workload: i.workload, Workspace: i.workspace,
			Policies: a.policies, Held: a.held, Pending: a.pending, States: cells[i.placed][i.index],
		})
	}
	page.Next = chosen.Next
	return page, nil
}

// Matrix returns the assignments of an environment as a table; a page has as many targets as its limit says.
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
	chosen, err := cut(sc.placed, q.Paging, func(p *placed) string { return p.name })
	if err != nil {
		return m, err
	}
	var targets []*placed
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

func (p *placed) row(clusterType string, states []StateCounts) Row {
	r := Row{Target: p.name, Workload: p.workload, Workspace: p.workspace, Running: p.versions(), Cells: []Cell{}}
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

// assigned is the environment of a query about assignments.
func (o *Observer) assigned(ctx context.Context, q AssignmentsQuery) (*scene, error) {
	s, err := o.environment(ctx, q.ControlPlane, q.Environment, q.AsOf)
	if err != nil {
		return nil, err
	}
	return o.scene(ctx, s, sceneFilter{target: q.Target, workload: q.Workload, workspace: q.Workspace, clusterType: q.ClusterType}, q.AsOf)
}

// counters is how many targets are counted at the same time.
const counters = 4

// allCells counts the clusters of every assignment of some targets.
func (o *Observer) allCells(ctx context.Context, sc *scene, targets []*placed) (map[*placed][]StateCounts, error) {
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
	cells := make(map[*placed][]StateCounts, len(targets))
	for i, p := range targets {
		cells[p] = counts[i]
	}
	return cells, err
}
