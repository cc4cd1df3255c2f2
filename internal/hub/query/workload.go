package query

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Workload is a workload at a glance.
type Workload struct {
	Name      string `json:"name"`
	Workspace string `json:"workspace,omitempty"`
	// Environments are those in which it has targets or runs, by name.
	Environments []WorkloadEnvironment `json:"environments"`
}

// WorkloadEnvironment is a workload in one environment.
type WorkloadEnvironment struct {
	Environment string `json:"environment"`
	// Targets is how many it has there, and ClusterTypes on how many cluster types they are.
	Targets      int `json:"targets"`
	ClusterTypes int `json:"clusterTypes"`
	// Held is how many of its assignments keep the files they have because of a problem.
	Held int `json:"held"`
	// Wanted are the versions that should run, sorted.
	Wanted []string `json:"wanted"`
	// Running are the versions that do, by version and state.
	Running []VersionCount `json:"running"`
}

// VersionCount is how many reconcilers have a version, in one state.
type VersionCount struct {
	// Version is empty when no deployment descriptor says it; then Revision is the commit of the GitOps branch.
	Version     string       `json:"version,omitempty"`
	Revision    string       `json:"revision,omitempty"`
	State       ledger.State `json:"state"`
	Reconcilers int          `json:"reconcilers"`
	// Since is when the first of them observed it.
	Since time.Time `json:"since,omitzero"`
}

// WorkloadDetail is everything about one workload that fits on a page.
type WorkloadDetail struct {
	Workload
	// Targets are those of all environments, by environment and name.
	Targets []Target `json:"targets"`
	// Applications are those that deliver it, as a server keeps them: mostly one, and none where its team delivers by itself.
	Applications []Application `json:"applications"`
	// History is what happened last, the newest first, at most 20 events.
	History []Event `json:"history"`
}

// WorkloadsQuery says which workloads are wanted. Empty fields do not restrict.
type WorkloadsQuery struct {
	Environment string
	Workspace   string
	Paging
}

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
	d := WorkloadDetail{Targets: []Target{}, Applications: o.deliveredAs(name)}
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
	return Unknown("workload", name, names)
}
