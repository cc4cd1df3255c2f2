package deliver

import (
	"cmp"
	"path"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	sigs "sigs.k8s.io/yaml"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/deliver/tree"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// annotationImage holds a build's image, in the format of [Build.Image].
const annotationImage = "app.kalypso.io/build-image"

// descriptor returns the descriptor for a target's manifests. Its build time is the time of the source commit, so
// that it does not depend on who renders it.
func (w *work) descriptor(target, folder string) *hub.DeploymentDescriptor {
	a := w.app
	d := &hub.DeploymentDescriptor{
		TypeMeta:   metav1.TypeMeta{APIVersion: hub.GroupVersion.String(), Kind: "DeploymentDescriptor"},
		ObjectMeta: metav1.ObjectMeta{Name: a.Workload.Name + "-" + target},
		Spec: hub.DeploymentDescriptorSpec{
			Workload: hub.DescribedWorkload{
				Name:   a.Workload.Name,
				Source: &hub.Repository{Repo: secret.Redact(a.Request.Source), Branch: a.Source.Branch, Path: path.Dir(a.Position.File)},
			},
			DeploymentTarget: hub.DescribedTarget{
				Name: target, Environment: w.environment,
				Manifests: hub.Repository{
					Repo: secret.Redact(w.gitops.Location.Repo), Branch: w.gitops.Location.Branch, Path: path.Join(w.gitops.Location.Path, folder),
				},
			},
			WorkloadVersion: hub.WorkloadVersion{Version: w.build.Name(), Commit: w.build.Commit},
		},
	}
	if d.Spec.WorkloadVersion.Version == "" {
		d.Spec.WorkloadVersion.Version = "uncommitted"
	}
	if w.build.Image != "" {
		d.Annotations = map[string]string{annotationImage: w.build.Image}
	}
	if w.workspace != "" {
		d.Spec.Workload.Application = &hub.Application{Name: a.Workload.Name, Workspace: &hub.Workspace{Name: w.workspace}}
	}
	if !a.Source.Time.IsZero() {
		d.Spec.WorkloadVersion.BuildTime = a.Source.Time.UTC().Format(time.RFC3339)
	}
	return d
}

// workspace returns the owner of the published manifests; empty if unknown. Only servers know it, from the platform's
// registration. CI keeps what a server published, because they would otherwise add and remove it in turns.
func (g *GitOps) workspace() string {
	if d := g.descriptor(); d != nil && d.Spec.Workload.Application != nil && d.Spec.Workload.Application.Workspace != nil {
		return d.Spec.Workload.Application.Workspace.Name
	}
	return ""
}

// unclaimed reports whether the published descriptors do not name an owner.
func (g *GitOps) unclaimed() bool { return g.descriptor() != nil && g.workspace() == "" }

// descriptor returns the first published descriptor, one of a pinned target last; nil if there is none. All others agree about the workload.
func (g *GitOps) descriptor() *hub.DeploymentDescriptor {
	if g.Published == nil {
		return nil
	}
	targets := slices.Clone(g.Published.Targets)
	slices.SortStableFunc(targets, func(a, b tree.PublishedTarget) int { return cmp.Compare(a.Pin.String(), b.Pin.String()) })
	for _, target := range targets {
		for _, f := range target.Files {
			if path.Base(f.Path) != "descriptor.yaml" {
				continue
			}
			var d hub.DeploymentDescriptor
			if content, err := g.read(f.Path); err == nil && sigs.Unmarshal(content, &d) == nil {
				return &d
			}
		}
	}
	return nil
}

// describedBuild returns the build in a descriptor; zero if it cannot be read.
func describedBuild(content []byte) Build {
	var d hub.DeploymentDescriptor
	if err := sigs.Unmarshal(content, &d); err != nil {
		return Build{}
	}
	b := Build{Commit: commitOf(d.Spec.WorkloadVersion.Commit), Version: d.Spec.WorkloadVersion.Version, Image: d.Annotations[annotationImage]}
	if b.Version == fleet.ShortCommit(b.Commit) {
		b.Version = ""
	}
	return b
}
