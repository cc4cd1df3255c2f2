package observing

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"
)

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
