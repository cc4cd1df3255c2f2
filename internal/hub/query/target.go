package query

import (
	"context"
	"path"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Target is a deployment target of an environment.
type Target struct {
	Environment string `json:"environment"`
	// Name is unique in the environment, ShortName in the workload.
	Name      string            `json:"name"`
	ShortName string            `json:"shortName,omitempty"`
	Workload  string            `json:"workload,omitempty"`
	Workspace string            `json:"workspace,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	// Source is where the application's manifests are; absent if unknown.
	Source *ledger.Source `json:"source,omitempty"`
	// ClusterTypes are those it is assigned to, sorted.
	ClusterTypes []string `json:"clusterTypes"`
	// Configuration are the folders of its assignments in the platform's GitOps repository,
	// with the platform configuration that it gets on each cluster type.
	Configuration []Folder `json:"configuration,omitempty"`
	// Wanted is the version that should run; absent without a deployment descriptor.
	Wanted *ledger.Version `json:"wanted,omitempty"`
	// Running are the versions that run, by version and state.
	Running []VersionCount `json:"running"`
	// Pin says that it does not follow its environment, but keeps a revision or is uninstalled, and who asked for that; absent if it follows
	// it, or that is unknown.
	Pin *deliver.PinnedTarget `json:"pin,omitempty"`
	// Held are the cluster types on which it keeps its published files because of a problem.
	Held []HeldAssignment `json:"held,omitempty"`
}

// Folder is a folder of a branch.
type Folder struct {
	ClusterType string `json:"clusterType"`
	Repository  string `json:"repository"`
	Branch      string `json:"branch"`
	Path        string `json:"path"`
}

// TargetsQuery selects targets. Empty fields match all.
type TargetsQuery struct {
	Environment string `query:"environment" maxLength:"253" doc:"Only targets of this environment."`
	Workload    string `query:"workload" maxLength:"253" doc:"Only targets of this workload."`
	Workspace   string `query:"workspace" maxLength:"253" doc:"Only targets of this workspace."`
	ClusterType string `query:"clusterType" maxLength:"253" doc:"Only targets that are assigned to this cluster type."`
	Paging
}

// Targets returns targets by environment and name.
func (o *Observer) Targets(ctx context.Context, q TargetsQuery) (Page[Target], error) {
	page := Page[Target]{Items: []Target{}}
	environmentViews, err := o.environmentViews(ctx, q.Environment, targetFilter{workload: q.Workload, workspace: q.Workspace, clusterType: q.ClusterType})
	if err != nil {
		return page, err
	}
	type item struct {
		in *environmentView
		*targetStatus
	}
	var all []item
	for _, sc := range environmentViews {
		for i := range sc.statuses {
			all = append(all, item{sc, &sc.statuses[i]})
		}
	}
	chosen, err := cut(all, q.Paging, func(i *item) string { return names(i.in.name, i.in.controlPlane, i.name) })
	page.Next = chosen.Next
	for _, i := range chosen.Items {
		page.Items = append(page.Items, i.in.target(i.targetStatus))
	}
	return page, err
}

// target returns a target for answers.
func (sc *environmentView) target(p *targetStatus) Target {
	t := Target{
		Environment: sc.name, Name: p.name, ShortName: p.shortName, Workload: p.workload, Workspace: p.workspace, Labels: p.labels,
		ClusterTypes: []string{}, Wanted: p.wanted, Running: p.versions(), Pin: p.pin,
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

// folder returns the folder with an environment's files.
func (sc *environmentView) folder() (GitOps, bool) {
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
