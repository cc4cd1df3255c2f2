package v1alpha1

import (
	"slices"
	"strings"

	scheduler "github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// Defaults of the usual repository layout.
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

// Complete returns the workload's delivery with every field that the team left out set to its default. written is nil
// if the source has no Delivery. source is the URL of the source repository. Complete does not change its arguments.
// Config.Repo stays empty if the configuration can be in either of two repositories; see [Delivery.ConfigPlaces].
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

// ConfigPlaces returns where an environment's configuration can be, in order of preference: the first repository that
// exists is used. d must be complete, see [Complete]. source is the URL of the source repository.
func (d *Delivery) ConfigPlaces(environment, source string) []scheduler.Repository {
	c := d.Spec.Config
	if c.Repo != "" {
		return []scheduler.Repository{{Repo: c.Repo, Branch: InEnvironment(c.Branch, environment), Path: c.Path}}
	}
	own := scheduler.Repository{Repo: Sibling(source, "-configs"), Branch: InEnvironment(or(c.Branch, EnvironmentPlaceholder), environment), Path: c.Path}
	branch := scheduler.Repository{Repo: source, Branch: InEnvironment(or(c.Branch, EnvironmentPlaceholder+"-configs"), environment), Path: c.Path}
	return []scheduler.Repository{own, branch}
}

// GitOpsPlace returns where an environment's manifests are written. d must be complete, see [Complete].
func (d *Delivery) GitOpsPlace(environment string) scheduler.Repository {
	g := d.Spec.GitOps
	return scheduler.Repository{Repo: g.Repo, Branch: InEnvironment(g.Branch, environment), Path: g.Path}
}

// Environment returns the environment called name, and whether there is one.
func (d *Delivery) Environment(name string) (Environment, bool) {
	i := slices.IndexFunc(d.Spec.Environments, func(e Environment) bool { return e.Name == name })
	if i < 0 {
		return Environment{}, false
	}
	return d.Spec.Environments[i], true
}

// InEnvironment replaces [EnvironmentPlaceholder] in a branch or folder pattern.
func InEnvironment(pattern, environment string) string {
	return strings.ReplaceAll(pattern, EnvironmentPlaceholder, environment)
}

// InTarget replaces [EnvironmentPlaceholder] and [TargetPlaceholder] in a folder pattern.
func InTarget(pattern, environment, target string) string {
	return strings.ReplaceAll(InEnvironment(pattern, environment), TargetPlaceholder, target)
}

// NamespaceOf returns what the chart sees as the namespace of a target; empty if it is not set.
func (c Chart) NamespaceOf(environment, target string) string {
	namespace := c.Namespace
	for _, n := range c.Namespaces {
		if (n.Environment == "" || n.Environment == environment) && (n.Target == "" || n.Target == target) {
			namespace = n.Namespace
		}
	}
	return InTarget(namespace, environment, target)
}

// chain completes the environments. Without any, it takes the workload's; each follows the one before it.
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

// environmentsOf lists the environments of a workload's targets: dev
// first, then the others in order of first appearance.
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

// namedRepository returns the repository that the targets name for their
// manifests; empty if they name none, or more than one.
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

// Sibling returns the URL of the repository that is called like source plus an ending: for "-gitops", the sibling of
// "https://host/team/hello-src" is "https://host/team/hello-gitops".
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
