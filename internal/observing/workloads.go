package observing

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Workloads returns workloads by name.
func (o *Observer) Workloads(ctx context.Context, q WorkloadsQuery) (Page[Workload], error) {
	scenes, err := o.scenes(ctx, q.Environment, sceneFilter{workspace: q.Workspace})
	if err != nil {
		return Page[Workload]{Items: []Workload{}}, err
	}
	all := map[string]*Workload{}
	for _, sc := range scenes {
		sc.addWorkloads(all)
	}
	items := []Workload{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		items = append(items, *all[name])
	}
	return cut(items, q.Paging, func(w *Workload) string { return w.Name })
}

// scenes are the environments that are wanted, now.
func (o *Observer) scenes(ctx context.Context, environment string, f sceneFilter) ([]*scene, error) {
	selected, err := o.selected(ctx, environment, time.Time{})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(selected, func(a, b standing) int { return cmp.Compare(a.name, b.name) })
	scenes := make([]*scene, len(selected))
	for i, s := range selected {
		if scenes[i], err = o.scene(ctx, s, f, time.Time{}); err != nil {
			return nil, err
		}
	}
	return scenes, nil
}

// addWorkloads adds what the workloads of an environment have there.
func (sc *scene) addWorkloads(all map[string]*Workload) {
	here := map[string][]placed{}
	for _, p := range sc.placed {
		if p.workload != "" {
			here[p.workload] = append(here[p.workload], p)
		}
	}
	for name, targets := range here {
		w := all[name]
		if w == nil {
			w = &Workload{Name: name}
			all[name] = w
		}
		e := WorkloadEnvironment{Environment: sc.name, Targets: len(targets), Wanted: []string{}}
		clusterTypes, running := map[string]bool{}, []VersionCount{}
		for _, p := range targets {
			w.Workspace = cmp.Or(w.Workspace, p.workspace)
			if p.wanted != nil && !slices.Contains(e.Wanted, p.wanted.Version) {
				e.Wanted = append(e.Wanted, p.wanted.Version)
			}
			for _, a := range p.assignments {
				clusterTypes[a.clusterType] = true
				if a.held != nil {
					e.Held++
				}
			}
			running = append(running, p.versions()...)
		}
		slices.Sort(e.Wanted)
		e.ClusterTypes, e.Running = len(clusterTypes), sumVersions(running)
		w.Environments = append(w.Environments, e)
	}
}

// Workload returns one workload across all environments.
func (o *Observer) Workload(ctx context.Context, name string) (WorkloadDetail, error) {
	scenes, err := o.scenes(ctx, "", sceneFilter{workload: name})
	if err != nil {
		return WorkloadDetail{}, err
	}
	all := map[string]*Workload{}
	d := WorkloadDetail{Targets: []Target{}}
	for _, sc := range scenes {
		sc.addWorkloads(all)
		for i := range sc.placed {
			d.Targets = append(d.Targets, sc.target(&sc.placed[i]))
		}
	}
	if all[name] == nil {
		return WorkloadDetail{}, o.unknownWorkload(ctx, name)
	}
	d.Workload = *all[name]
	history, err := o.History(ctx, HistoryQuery{Workload: name, Paging: Paging{Limit: lastEvents}})
	d.History = history.Items
	return d, err
}

// unknownWorkload is the error for a workload that neither the fleet nor the ledger knows.
func (o *Observer) unknownWorkload(ctx context.Context, name string) error {
	names, err := o.Ledger.Names(ctx, ledger.NameWorkload)
	if err != nil {
		return err
	}
	for _, s := range o.standings() {
		if inv := s.scheduled.targets(); inv != nil {
			for _, t := range inv.targets {
				names = append(names, t.workload)
			}
		}
	}
	return unknown("workload", name, names)
}

// Targets returns targets by environment and name.
func (o *Observer) Targets(ctx context.Context, q TargetsQuery) (Page[Target], error) {
	page := Page[Target]{Items: []Target{}}
	scenes, err := o.scenes(ctx, q.Environment, sceneFilter{workload: q.Workload, workspace: q.Workspace, clusterType: q.ClusterType})
	if err != nil {
		return page, err
	}
	type item struct {
		in *scene
		*placed
	}
	var all []item
	for _, sc := range scenes {
		for i := range sc.placed {
			all = append(all, item{sc, &sc.placed[i]})
		}
	}
	chosen, err := cut(all, q.Paging, func(i *item) string { return key(i.in.name, i.in.controlPlane, i.name) })
	page.Next = chosen.Next
	for _, i := range chosen.Items {
		page.Items = append(page.Items, i.in.target(i.placed))
	}
	return page, err
}

// target is a target as it is shown.
func (sc *scene) target(p *placed) Target {
	t := Target{
		Environment: sc.name, Name: p.name, ShortName: p.shortName, Workload: p.workload, Workspace: p.workspace, Labels: p.labels,
		ClusterTypes: []string{}, Wanted: p.wanted, Running: p.versions(),
	}
	if p.source != (ledger.Source{}) {
		t.Source = &p.source
	}
	folder, known := sc.folder()
	for _, a := range p.assignments {
		t.ClusterTypes = append(t.ClusterTypes, a.clusterType)
		if a.held != nil {
			t.Held = append(t.Held, HeldAssignment{ClusterType: a.clusterType, Target: p.name, Reason: a.held})
		}
		if known {
			t.Configuration = append(t.Configuration, Folder{
				ClusterType: a.clusterType, Repository: folder.Repository, Branch: folder.Branch, Path: path.Join(folder.Path, a.clusterType, p.name),
			})
		}
	}
	return t
}

// folder is where an environment's files are.
func (sc *scene) folder() (GitOps, bool) {
	if s := sc.scheduled; s != nil && s.Snapshot != nil && s.Snapshot.GitOps != nil {
		g := s.Snapshot.GitOps
		return GitOps{Repository: ledger.CleanRepository(g.Repo), Branch: g.Branch, Path: g.Path}, true
	}
	// Which folder it is, the ledger does not say; without one it is the root.
	for _, head := range sc.heads {
		if head.Kind == ledger.BranchPlatform {
			return GitOps{Repository: head.Repository, Branch: head.Branch}, true
		}
	}
	return GitOps{}, false
}
