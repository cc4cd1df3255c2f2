package query

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/text/natural"
)

// Workload summarizes a workload.
type Workload struct {
	Name      string `json:"name"`
	Workspace string `json:"workspace,omitempty"`
	// Environments are those with targets or running versions, by name.
	Environments []WorkloadEnvironment `json:"environments"`
}

// WorkloadEnvironment is a workload in one environment.
type WorkloadEnvironment struct {
	Environment string `json:"environment"`
	// Targets is how many targets it has there, ClusterTypes on how many cluster types.
	Targets      int `json:"targets"`
	ClusterTypes int `json:"clusterTypes"`
	// Held is how many of its assignments keep their published files because of a problem.
	Held int `json:"held"`
	// Wanted are the versions that should run, sorted.
	Wanted []string `json:"wanted"`
	// Running are the versions that run, by version and state.
	Running []VersionCount `json:"running"`
}

// VersionCount counts the reconcilers at a version in one state.
type VersionCount struct {
	// Version is empty without a deployment descriptor; then Revision is the commit of the GitOps branch.
	Version     string       `json:"version,omitempty"`
	Revision    string       `json:"revision,omitempty"`
	State       ledger.State `json:"state"`
	Reconcilers int          `json:"reconcilers"`
	// Since is the first observation on any of them.
	Since time.Time `json:"since,omitzero"`
}

// WorkloadDetail is a workload with its targets, applications and history.
type WorkloadDetail struct {
	Workload
	// Targets are those of all environments, by environment and name.
	Targets []Target `json:"targets"`
	// Applications deliver it: usually one; none if the server does not deliver it.
	Applications []Application `json:"applications"`
	// History has the last events, the newest first, at most 20.
	History []Event `json:"history"`
}

// WorkloadsQuery selects workloads. Empty fields match all.
type WorkloadsQuery struct {
	Environment string `query:"environment" maxLength:"253" doc:"Only workloads with targets in this environment."`
	Workspace   string `query:"workspace" maxLength:"253" doc:"Only workloads of this workspace."`
	Paging
}

// Workloads returns workloads by name.
func (o *Observer) Workloads(ctx context.Context, q WorkloadsQuery) (Page[Workload], error) {
	environmentViews, err := o.environmentViews(ctx, q.Environment, targetFilter{workspace: q.Workspace})
	if err != nil {
		return Page[Workload]{Items: []Workload{}}, err
	}
	all := map[string]*Workload{}
	for _, sc := range environmentViews {
		sc.addWorkloads(all)
	}
	items := []Workload{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		items = append(items, *all[name])
	}
	return cut(items, q.Paging, func(w *Workload) string { return names(w.Name) })
}

// environmentViews are the environments that are wanted, now.
func (o *Observer) environmentViews(ctx context.Context, environment string, f targetFilter) ([]*environmentView, error) {
	selected, err := o.selected(ctx, environment, time.Time{})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(selected, func(a, b standing) int { return natural.Compare(a.name, b.name) })
	environmentViews := make([]*environmentView, len(selected))
	for i, s := range selected {
		if environmentViews[i], err = o.environmentView(ctx, s, f, time.Time{}); err != nil {
			return nil, err
		}
	}
	return environmentViews, nil
}

// addWorkloads adds the workloads of an environment.
func (sc *environmentView) addWorkloads(all map[string]*Workload) {
	here := map[string][]targetStatus{}
	for _, p := range sc.statuses {
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
	environmentViews, err := o.environmentViews(ctx, "", targetFilter{workload: name})
	if err != nil {
		return WorkloadDetail{}, err
	}
	all := map[string]*Workload{}
	d := WorkloadDetail{Targets: []Target{}, Applications: o.deliveredAs(name)}
	for _, sc := range environmentViews {
		sc.addWorkloads(all)
		for i := range sc.statuses {
			d.Targets = append(d.Targets, sc.target(&sc.statuses[i]))
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

// unknownWorkload returns the error for an unknown workload.
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
