package v1alpha1

import (
	"slices"
	"strings"

	scheduler "github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// The usual layout of an application's repositories.
const (
	// DefaultChart is the folder of the chart in the source repository.
	DefaultChart = "helm"
	// DefaultFirst is the environment that comes first when a Workload has targets in it.
	DefaultFirst = "dev"
	// EnvironmentPlaceholder stands for the name of the environment in branches and folders.
	EnvironmentPlaceholder = "{environment}"
	// TargetPlaceholder stands for the name of the target in folders.
	TargetPlaceholder = "{target}"
)

// Complete returns the delivery of a workload with everything filled in that the team left out, for the usual layout.
// written is nil where the source has no Delivery. source is the URL of the source repository.
// Neither argument is changed. Config.Repo stays empty where either of two places may hold the configuration:
// see [Delivery.ConfigPlaces].
func Complete(written *Delivery, w *scheduler.Workload, source string) *Delivery {
	d := &Delivery{}
	if written != nil {
		d = written.DeepCopy()
	}
	d.APIVersion, d.Kind = GroupVersion.String(), "Delivery"
	if d.Name == "" {
		d.Name = w.Name
	}
	s := &d.Spec
	s.Workload = or(s.Workload, w.Name)
	if s.Chart == nil && s.Kustomization == "" && s.Manifests == "" && len(s.Services) == 0 {
		s.Chart = &Chart{Path: DefaultChart}
	}
	if len(s.Services) == 0 {
		s.Release = or(s.Release, s.Workload)
	}
	if s.Config.Repo != "" {
		s.Config.Branch = or(s.Config.Branch, EnvironmentPlaceholder)
	}
	s.GitOps.Repo = or(s.GitOps.Repo, or(namedRepository(w), Sibling(source, "-gitops")))
	s.GitOps.Branch = or(s.GitOps.Branch, EnvironmentPlaceholder)
	if len(s.Images) == 0 && len(s.Services) == 0 {
		s.Images = []Image{{Name: s.Workload, Repository: "image.repository", Tag: "image.tag", Digest: "image.digest"}}
	}
	s.Environments = chain(s.Environments, w)
	return d
}

// ConfigPlaces returns where the configuration of an environment may be, the first that exists counts.
// The delivery is a complete one; source is the URL of its source repository.
func (d *Delivery) ConfigPlaces(environment, source string) []scheduler.Repository {
	c := d.Spec.Config
	if c.Repo != "" {
		return []scheduler.Repository{{Repo: c.Repo, Branch: InEnvironment(c.Branch, environment), Path: c.Path}}
	}
	own := scheduler.Repository{Repo: Sibling(source, "-configs"), Branch: InEnvironment(or(c.Branch, EnvironmentPlaceholder), environment), Path: c.Path}
	branch := scheduler.Repository{Repo: source, Branch: InEnvironment(or(c.Branch, EnvironmentPlaceholder+"-configs"), environment), Path: c.Path}
	return []scheduler.Repository{own, branch}
}

// GitOpsPlace returns where the manifests of an environment go. The delivery is a complete one.
func (d *Delivery) GitOpsPlace(environment string) scheduler.Repository {
	g := d.Spec.GitOps
	return scheduler.Repository{Repo: g.Repo, Branch: InEnvironment(g.Branch, environment), Path: g.Path}
}

// Environment returns the environment of a name.
func (d *Delivery) Environment(name string) (Environment, bool) {
	i := slices.IndexFunc(d.Spec.Environments, func(e Environment) bool { return e.Name == name })
	if i < 0 {
		return Environment{}, false
	}
	return d.Spec.Environments[i], true
}

// InEnvironment puts the name of an environment into a branch or folder.
func InEnvironment(pattern, environment string) string {
	return strings.ReplaceAll(pattern, EnvironmentPlaceholder, environment)
}

// InTarget puts the names of an environment and of a target into a folder.
func InTarget(pattern, environment, target string) string {
	return strings.ReplaceAll(InEnvironment(pattern, environment), TargetPlaceholder, target)
}

// chain completes the environments: those of the workload where none are named, each after the one before it.
func chain(written []Environment, w *scheduler.Workload) []Environment {
	environments := written
	if len(environments) == 0 {
		for i, name := range environmentsOf(w) {
			environments = append(environments, Environment{Name: name, AutoMerge: i == 0})
		}
	}
	for i := range environments {
		if environments[i].Promotion != nil {
			continue
		}
		environments[i].Promotion = &scheduler.Promotion{}
		if i > 0 {
			environments[i].Promotion.After = []string{environments[i-1].Name}
		}
	}
	return environments
}

// environmentsOf lists the environments of a workload's targets: dev first, the others as they are named first.
func environmentsOf(w *scheduler.Workload) []string {
	var names []string
	for _, t := range w.Spec.DeploymentTargets {
		if !slices.Contains(names, t.Environment) {
			names = append(names, t.Environment)
		}
	}
	if i := slices.Index(names, DefaultFirst); i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, DefaultFirst)
	}
	return names
}

// namedRepository is the one repository that the targets name for their manifests; empty when they name several, or none.
func namedRepository(w *scheduler.Workload) string {
	repo := ""
	for _, t := range w.Spec.DeploymentTargets {
		named := t.Manifests["repo"]
		if named == "" || repo != "" && named != repo {
			return ""
		}
		repo = named
	}
	return repo
}

// Sibling is the repository next to another one that has its name and an ending: with "-gitops", "https://host/team/hello-src" has
// the sibling "https://host/team/hello-gitops".
func Sibling(source, ending string) string {
	source = strings.TrimRight(source, "/")
	base, git := strings.CutSuffix(source, ".git")
	for _, own := range []string{"-src", "-source"} {
		if name, ok := strings.CutSuffix(base, own); ok && !strings.HasSuffix(name, "/") {
			base = name
			break
		}
	}
	base += ending
	if git {
		base += ".git"
	}
	return base
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
