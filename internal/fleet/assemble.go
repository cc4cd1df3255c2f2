package fleet

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Inputs are the sources of one environment.
type Inputs struct {
	Environment string
	// Main holds the objects that are promoted: registrations, templates, schemas and configuration.
	Main *Objects
	// Branch holds the objects of the environment itself.
	Branch *Objects
	// ConfigRepos are the additional configuration repositories, by the name of the ConfigRepo.
	ConfigRepos map[string]Fetched
	// Workloads are the workload repositories, by the name of the registration. See [Registrations].
	Workloads map[string]Fetched
	// Charts are the charts of templates, by the name of the template. See [ChartTemplates].
	Charts map[string]Chart
}

// Fetched is the result of reading a source.
type Fetched struct {
	Objects *Objects
	Err     error
}

// Registrations returns the registrations of an environment, sorted by name.
// One on the environment branch counts only if main has none with the same name.
func Registrations(main, branch *Objects) []Object[v1alpha1.WorkloadRegistration] {
	return override(main, main.Registrations, branch.Registrations)
}

// Assemble builds the snapshot of an environment: it derives the targets, resolves extends, checks names and references
// across sources, and collects all problems.
func Assemble(in Inputs) *Snapshot {
	a := assembly{Inputs: in, s: &Snapshot{Environment: in.Environment, Elsewhere: map[string]string{}}}
	if a.Main == nil {
		a.Main = &Objects{}
	}
	if a.Branch == nil {
		a.Branch = &Objects{}
	}
	a.s.take(a.Main, onMain, Owner{})
	a.s.take(a.Branch, onBranch, Owner{})
	a.configRepos()
	a.baseRepo()
	a.gitOps()
	a.clusterTypes()
	a.clusters()
	a.rings()
	a.policies()
	a.grants()
	a.configuration()
	a.targets()
	a.inlineSchemas()
	a.strayWorkloads()
	a.s.Problems = SortProblems(a.s.Problems)
	a.sortUnreadable()
	a.unmarked()
	a.s.inputs, a.s.assembled, a.s.unreadable = a.Inputs, slices.Clone(a.s.Problems), len(a.s.Unreadable)
	return a.s
}

// assembly is the state of [Assemble].
type assembly struct {
	Inputs
	s *Snapshot
	// configs are the branch and the configuration repositories.
	configs []*Objects
	// inline are the schemas in Workloads and DeploymentTargets.
	inline []*Schema
}

func (a *assembly) sortUnreadable() {
	slices.SortFunc(a.s.Unreadable, compareUnreadable)
	a.s.Unreadable = slices.CompactFunc(a.s.Unreadable, func(x, y Unreadable) bool { return compareUnreadable(x, y) == 0 })
}

// unmarked leaves only the ConfigMaps that lost their label: one that says otherwise with its label, or that is platform configuration
// elsewhere, did not.
func (a *assembly) unmarked() {
	a.s.Unmarked = slices.DeleteFunc(a.s.Unmarked, func(u Unreadable) bool {
		return slices.ContainsFunc(a.s.Configs, func(c *ConfigMap) bool { return c.Name == u.Ref.Name })
	})
	slices.SortFunc(a.s.Unmarked, compareUnreadable)
}

func (a *assembly) problem(severity Severity, kind ProblemKind, at written, hint, format string, args ...any) {
	a.s.Problems = append(a.s.Problems, Problem{
		Severity: severity, Kind: kind, Object: at.ref(), Position: at.position(), Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// lose lists an object that cannot be used. owner is zero for objects of the control plane.
func (a *assembly) lose(w written, owner Owner) {
	a.s.Unreadable = append(a.s.Unreadable, Unreadable{Ref: w.ref(), Labels: w.labelled(), Owner: owner, Position: w.position()})
}

// configRepos adds the configuration repositories of the branch.
// One that cannot be reached is unreadable as a whole: its objects are unknown.
func (a *assembly) configRepos() {
	a.configs = []*Objects{a.Branch}
	for _, repo := range a.Branch.ConfigRepos {
		fetched, requested := a.ConfigRepos[repo.Value.Name]
		if err := fetched.failure(requested); err != nil {
			a.problem(SeverityError, KindUnreachable, repo, "", "%v", err)
			a.s.Unreadable = append(a.s.Unreadable, Unreadable{Position: repo.Position, NoTemplate: true})
			continue
		}
		a.s.take(fetched.Objects, inConfigs, Owner{})
		a.configs = append(a.configs, fetched.Objects)
	}
}

// failure returns why there are no objects. A source that the caller did not read counts as unreachable:
// treating it as empty would remove its workloads.
func (f Fetched) failure(requested bool) error {
	switch {
	case f.Err != nil:
		return f.Err
	case !requested || f.Objects == nil:
		return fmt.Errorf("the repository was not read")
	}
	return nil
}

// baseRepo finds the promoted commit. An environment without any BaseRepo uses the head of main.
func (a *assembly) baseRepo() {
	branch := a.Main.Source.Branch
	if base, _, ok := a.Branch.BaseRepo(branch); ok {
		a.s.PromotedCommit = base.Spec.Commit
		return
	}
	for _, base := range a.Branch.BaseRepos {
		a.problem(SeverityWarning, KindMissingObject, base, `rename it to "main"`,
			"no BaseRepo has the name of the base branch, so the head of the branch is used instead of the promoted commit")
	}
}

func (a *assembly) gitOps() {
	repos := a.Branch.GitOpsRepos
	switch {
	case len(repos) == 1:
		a.s.GitOps = gitOpsRepo(repos[0])
		a.s.GitOps.URL = a.urlOf(a.s.GitOps.Repo)
	case len(repos) > 1:
		names := make([]string, len(repos))
		for i, repo := range repos {
			names[i] = fmt.Sprintf("%s (%s)", repo.Value.Name, repo.Position)
			a.lose(repo, Owner{})
		}
		a.problem(SeverityError, KindDuplicate, repos[0], "keep one", "an environment must have one GitOpsRepo, but this has %s", strings.Join(names, ", "))
	case !a.unreadable(kindGitOpsRepo):
		a.s.Problems = append(a.s.Problems, Problem{
			Severity: SeverityError, Kind: KindMissingObject,
			Position: Position{Source: a.Branch.Source.Name},
			Message:  fmt.Sprintf("the environment %q has no GitOpsRepo", a.Environment), Hint: "add one to the environment branch",
		})
	}
}

// urlOf returns the URL of a repository that a document of the environment branch names, without a credential.
func (a *assembly) urlOf(repo string) string {
	from := secret.Redact(a.Branch.Source.Repo)
	if !IsRelative(repo) || from == "" {
		return repo
	}
	url, err := JoinURL(from, repo)
	if err != nil {
		return repo
	}
	return url
}

// unreadable reports whether there is, or may be, an unreadable object of the kind.
func (a *assembly) unreadable(kind string) bool {
	return slices.ContainsFunc(a.s.Unreadable, func(u Unreadable) bool { return u.Ref.Kind == kind || u.Ref == Ref{} })
}

// gitOpsRepo returns the repository with its budget parsed.
func gitOpsRepo(o Object[v1alpha1.GitOpsRepo]) *GitOpsRepo {
	spec := o.Value.Spec
	budget, _ := ParseDeletionBudget("", spec.DeletionBudget) // checked when it was read
	return &GitOpsRepo{
		Repo: spec.Repo, Branch: spec.Branch, Path: spec.Path,
		AutoMerge: spec.AutoMerge, Budget: budget, RemoveHandedOver: spec.HandedOver == v1alpha1.HandedOverRemove,
		Publish: spec.Publish, Unmanaged: spec.Unmanaged, Origin: o.Origin,
	}
}

// policies compiles the policies of the environment branch.
func (a *assembly) policies() {
	for _, p := range a.Branch.Policies {
		a.s.Policies = append(a.s.Policies, compilePolicy(p))
	}
	a.s.LostExclusion = lostExclusion(a.Branch)
}

// configuration collects ConfigMaps and schemas from all sources, and templates, of which those on main come first.
func (a *assembly) configuration() {
	configs, schemas := slices.Clone(a.Main.Configs), slices.Clone(a.Main.Schemas)
	for _, o := range a.configs {
		configs = append(configs, o.Configs...)
		schemas = append(schemas, o.Schemas...)
	}
	a.s.Configs = once(a, collapse(configs, sameConfigMap))
	a.s.Schemas = once(a, collapse(schemas, sameSchema))
	a.s.Templates = a.charts(override(a.Main, a.Main.Templates, a.Branch.Templates))
	a.s.Definitions = override(a.Main, a.Main.Definitions, a.Branch.Definitions)
	a.s.AdmissionPolicies = override(a.Main, a.Main.AdmissionPolicies, a.Branch.AdmissionPolicies)
	a.s.CheckPolicies = slices.Concat(a.Main.CheckPolicies, a.Branch.CheckPolicies)
}

// once returns the objects sorted by name. It reports and loses those with the same name.
func once[W written](a *assembly, list []W) []W {
	kept, problems, unreadable := distinct(list)
	a.s.Problems = append(a.s.Problems, problems...)
	a.s.Unreadable = append(a.s.Unreadable, unreadable...)
	return kept
}

// override returns the objects of main, and those of the branch whose name no object of main has,
// readable or not.
func override[W written](main *Objects, own, more []W) []W {
	taken := map[Ref]bool{}
	visit(own, func(w written) { taken[w.ref()] = true })
	for _, u := range main.Unreadable {
		taken[u.Ref] = true
	}
	list := slices.Clone(own)
	for _, w := range more {
		if !taken[w.ref()] {
			list = append(list, w)
		}
	}
	slices.SortFunc(list, byName)
	return list
}

// collapse removes copies of an object:
// a document that was promoted to main may still be on the branch it came from.
func collapse[W written](list []W, same func(a, b W) bool) []W {
	slices.SortFunc(list, byName)
	return slices.CompactFunc(list, func(x, y W) bool { return x.ref() == y.ref() && same(x, y) })
}

// sameConfigMap compares two ConfigMaps without their positions.
func sameConfigMap(a, b *ConfigMap) bool {
	return reflect.DeepEqual(a.Labels, b.Labels) && a.Replace == b.Replace && a.Store == b.Store && slices.EqualFunc(a.Entries, b.Entries, func(x, y ConfigEntry) bool {
		return x.Key == y.Key && sameNode(x.Value, y.Value)
	})
}

// sameNode compares two nodes with their quotes, but without positions and comments.
func sameNode(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Tag == b.Tag && a.Value == b.Value && a.Style == b.Style &&
		slices.EqualFunc(a.Content, b.Content, sameNode)
}

func sameSchema(a, b *Schema) bool {
	return a.OnMissing == b.OnMissing && reflect.DeepEqual(a.Labels, b.Labels) && reflect.DeepEqual(a.Document, b.Document)
}
