package fleet

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/text/repourl"
)

// Labels that every target has, with fixed values.
const (
	workloadLabel  = "workload"
	workspaceLabel = "workspace"
)

// targets adds the deployment targets of the environment, from registered workloads and
// from DeploymentTargets.
func (a *assembly) targets() {
	var all []*Target
	for _, r := range Registrations(a.Main, a.Branch) {
		all = append(all, a.registered(r)...)
	}
	for _, o := range []*Objects{a.Main, a.Branch} {
		for _, t := range o.Targets {
			if !a.fetchedTarget(o.Source, t) {
				all = append(all, a.direct(t, nil, o.Source)...)
			}
		}
	}
	a.s.Targets = a.onceTargets(all)
}

// fetchedTarget reports whether a DeploymentTarget of the control plane was read through a registration, too, because the
// registration refers to a path of the control plane. Its line may differ: main is read at the promoted commit, a registered
// path at the head of its branch.
func (a *assembly) fetchedTarget(source Source, t Object[v1alpha1.DeploymentTarget]) bool {
	for _, fetched := range a.Workloads {
		if fetched.Objects == nil || !repourl.Same(fetched.Objects.Source.Repo, source.Repo) || fetched.Objects.Source.Branch != source.Branch {
			continue
		}
		for _, other := range fetched.Objects.Targets {
			if other.Value.Name == t.Value.Name && other.Position.File == t.Position.File {
				return true
			}
		}
	}
	return false
}

// registered returns the targets of a registration.
// A workload that cannot be reached, or is not at the registered path, must not be removed.
func (a *assembly) registered(r Object[v1alpha1.WorkloadRegistration]) []*Target {
	owner := Owner{Workspace: r.Value.Spec.Workspace, Registration: r.Value.Name}
	fetched, requested := a.Workloads[r.Value.Name]
	if err := fetched.failure(requested); err != nil {
		a.problem(SeverityError, KindUnreachable, r, "", "%v", err)
		a.lose(r, owner)
		return nil
	}
	o := fetched.Objects
	a.s.take(o, inWorkloads, owner)
	if len(o.Workloads)+len(o.Targets) == 0 {
		a.lose(r, owner)
		if len(o.Unreadable) == 0 {
			at := r.Value.Spec.Workload
			a.problem(SeverityError, KindMissingObject, r, "add the Workload, or correct spec.workload",
				"no Workload found at path %q of %s", at.Path, quoteShort(at.Repo))
		}
		return nil
	}
	var targets []*Target
	for _, w := range o.Workloads {
		targets = append(targets, a.derive(r, w, o.Source)...)
	}
	for _, t := range o.Targets {
		targets = append(targets, a.direct(t, &r, o.Source)...)
	}
	return targets
}

// derive returns the targets of a workload in this environment.
func (a *assembly) derive(r Object[v1alpha1.WorkloadRegistration], w Object[v1alpha1.Workload], source Source) []*Target {
	var targets []*Target
	workspace := r.Value.Spec.Workspace
	a.reserved(w, w.Value.Labels, w.Value.Name, workspace)
	for i, entry := range w.Value.Spec.DeploymentTargets {
		if entry.Environment != a.Environment {
			a.s.Elsewhere[w.Value.Name+"/"+entry.Name] = entry.Environment
			continue
		}
		t := &Target{
			Name: TargetName(w.Value.Name, entry.Name), ShortName: entry.Name,
			Workload: w.Value.Name, Workspace: workspace, Registration: r.Value.Name,
			Labels:    overlay(w.Value.Labels, entry.Labels),
			Manifests: overlay(entry.Manifests),
			Requests:  entry.Requests, RequiredFeatures: compileFeatures(entry.RequiredFeatures),
			DependsOn: dependencies(w.Value.Spec.DependsOn, entry.DependsOn),
			Origin:    w.Origin,
		}
		t.Position.Line = w.Lines[i]
		t.ConfigSchemas = union(a.schemaTexts(w.Value.Spec.ConfigSchemas, t.Workload, w.Origin),
			a.schemaTexts(entry.ConfigSchemas, t.Name, t.Origin))
		t.Digest = combine(w.Digest, r.Digest).with(nil, i)
		a.reserved(t, entry.Labels, t.Workload, workspace)
		t.own()
		if a.locate(t, source.Repo) {
			targets = append(targets, t)
		}
	}
	return targets
}

// direct returns the target of a DeploymentTarget, if it is of this environment.
// In a registered repository it belongs to the workspace of the registration.
func (a *assembly) direct(o Object[v1alpha1.DeploymentTarget], r *Object[v1alpha1.WorkloadRegistration], source Source) []*Target {
	if o.Value.Spec.Environment != a.Environment {
		return nil
	}
	t := &Target{
		Name: o.Value.Name, Workload: o.Value.Labels[workloadLabel], Workspace: o.Value.Labels[workspaceLabel],
		Labels: overlay(o.Value.Labels), Manifests: overlay(o.Value.Spec.Manifests),
		ConfigSchemas: union(a.schemaTexts(o.Value.Spec.ConfigSchemas, o.Value.Name, o.Origin)),
		Requests:      o.Value.Spec.Requests, RequiredFeatures: compileFeatures(o.Value.Spec.RequiredFeatures),
		DependsOn: dependencies(o.Value.Spec.DependsOn), Origin: o.Origin,
	}
	if r != nil {
		t.Workspace, t.Registration = r.Value.Spec.Workspace, r.Value.Name
		t.Digest = combine(o.Digest, r.Digest)
		a.reserved(o, o.Value.Labels, t.Workload, t.Workspace)
	}
	t.ShortName = strings.TrimPrefix(t.Name, t.Workload+"-")
	t.own()
	if !a.locate(t, source.Repo) {
		return nil
	}
	return []*Target{t}
}

// dependencies returns the dependencies of all lists, sorted, each once.
func dependencies(lists ...[]v1alpha1.Dependency) []Dependency {
	var all []Dependency
	for _, d := range slices.Concat(lists...) {
		all = append(all, Dependency(d))
	}
	slices.SortFunc(all, func(a, b Dependency) int {
		return cmp.Or(cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Target, b.Target))
	})
	return slices.Compact(all)
}

// TargetLabels returns the labels of a target of a workload, of which later ones take precedence, with the reserved label workload. Only the platform
// knows the other one, workspace.
func TargetLabels(workload string, layers ...map[string]string) map[string]string {
	labels := overlay(layers...)
	labels[workloadLabel] = workload
	delete(labels, workspaceLabel)
	return labels
}

// own sets the reserved labels.
func (t *Target) own() {
	t.Labels = TargetLabels(t.Workload, t.Labels)
	if t.Workspace != "" {
		t.Labels[workspaceLabel] = t.Workspace
	}
}

// reserved reports reserved labels with another value.
func (a *assembly) reserved(w written, labels map[string]string, workload, workspace string) {
	own := map[string]string{workloadLabel: workload, workspaceLabel: workspace}
	for _, key := range []string{workloadLabel, workspaceLabel} {
		if value, set := labels[key]; set && value != own[key] {
			a.problem(SeverityWarning, KindReservedLabel, w, "remove the label",
				"the label %s: %s is ignored; the value is %q for every target here", key, quoteShort(value), own[key])
		}
	}
}

// strayWorkloads warns about Workloads in the control plane that no registration refers to.
func (a *assembly) strayWorkloads() {
	for _, o := range []*Objects{a.Main, a.Branch} {
		for _, w := range o.Workloads {
			if !a.leadsTo(o.Source, w.Position.File) {
				a.problem(SeverityWarning, KindWrongBranch, w, "add a WorkloadRegistration for it",
					"a Workload without a registration is ignored")
			}
		}
	}
}

// leadsTo reports whether a registration refers to a file of a source. Its URL may be mapped to another one,
// so the fetched repository counts as well.
func (a *assembly) leadsTo(source Source, file string) bool {
	return slices.ContainsFunc(Registrations(a.Main, a.Branch), func(r Object[v1alpha1.WorkloadRegistration]) bool {
		at := r.Value.Spec.Workload
		same := repourl.Same(at.Repo, source.Repo)
		if fetched := a.Workloads[r.Value.Name].Objects; fetched != nil {
			same = same || repourl.Same(fetched.Source.Repo, source.Repo)
		}
		return same && (at.Path == "" || strings.HasPrefix(file, at.Path+"/"))
	})
}

// overlay merges maps into a new one; the last wins. It is never nil.
func overlay(layers ...map[string]string) map[string]string {
	merged := map[string]string{}
	for _, layer := range layers {
		maps.Copy(merged, layer)
	}
	return merged
}

// union returns the names of all lists, sorted, without duplicates.
func union(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}
