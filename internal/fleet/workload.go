package fleet

import (
	"cmp"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// target decodes one element of a Workload's deploymentTargets, and reports whether it can be used.
// The others do not depend on it.
func (d *decoder) target(n *yaml.Node, out reflect.Value) bool {
	workload, failed := d.object, d.failed
	defer func() { d.object, d.failed = workload, failed }()

	d.failed = false
	d.object = Ref{Kind: kindTarget, Name: targetRefName(workload.Name, n)}
	d.value(n, out)
	if n.Kind == yaml.MappingNode {
		d.require(n, "name")
		d.name(n, dnsLabel, "name")
		d.checkTargetSpec(n, &out.Addr().Interface().(*v1alpha1.WorkloadTarget).DeploymentTargetSpec)
	} else if n.Tag == nullTag {
		d.wrongType(n, d.field(), "a map")
	}
	if d.failed {
		d.loseTarget(n)
		return false
	}
	d.lines = append(d.lines, n.Line)
	return true
}

// checkTargetSpec checks the fields that a target in a Workload and a DeploymentTarget have in common.
func (d *decoder) checkTargetSpec(parent *yaml.Node, spec *v1alpha1.DeploymentTargetSpec, keys ...string) {
	d.checkManifests(parent, keys...)
	d.quantities(parent, spec.Requests, append(slices.Clip(keys), "requests")...)
	d.requiredFeatures(parent, spec.RequiredFeatures, append(slices.Clip(keys), "requiredFeatures")...)
	d.dependencies(parent, spec.DependsOn, append(slices.Clip(keys), "dependsOn")...)
	keys = append(keys, "environment")
	d.require(parent, keys...)
	d.name(parent, dnsLabel, keys...)
}

// maxDependencies is the maximum length of a list of dependencies.
const maxDependencies = 64

// dependencies checks a list of dependencies.
func (d *decoder) dependencies(parent *yaml.Node, list []v1alpha1.Dependency, keys ...string) {
	if len(list) > maxDependencies {
		d.fail(KindInvalidValue, lookup(parent, keys...), "", "%s has %d elements, want at most %d", d.field(keys...), len(list), maxDependencies)
		return
	}
	d.elements(parent, len(list), func(n *yaml.Node, _ int) {
		d.require(n, "workload")
		d.name(n, dnsLabel, "workload")
		d.name(n, dnsLabel, "target")
	}, keys...)
}

// loseTarget lists the element as unreadable.
func (d *decoder) loseTarget(n *yaml.Node) {
	name := readText(child(n, "name"))
	d.parts = append(d.parts, Unreadable{
		Ref: d.object, Nameless: len(dnsLabel.check(name)) > 0,
		Labels: readLabels(child(n, "labels")), Position: Position{Line: n.Line},
	})
}

// targetRefName returns the full name of a target, or "" if it has no name.
func targetRefName(workload string, n *yaml.Node) string {
	if name := lookup(n, "name"); name != nil && name.Value != "" {
		return safe(TargetName(workload, name.Value))
	}
	return ""
}

// checkWorkload removes targets with the same name, because it is unknown which one is meant.
func checkWorkload(d *decoder, root *yaml.Node, w *v1alpha1.Workload) {
	if spec := child(root, "spec"); spec == nil || spec.Kind == yaml.MappingNode && !hasKey(spec, "deploymentTargets") {
		d.fail(KindMissingField, cmp.Or(spec, root), "write deploymentTargets: [] if it has none", "%s is missing", d.field("spec", "deploymentTargets"))
	}
	d.dependencies(root, w.Spec.DependsOn, "spec", "dependsOn")
	lines := map[string][]int{}
	for i, target := range w.Spec.DeploymentTargets {
		lines[target.Name] = append(lines[target.Name], d.lines[i])
	}
	var targets []v1alpha1.WorkloadTarget
	var kept []int
	for i, target := range w.Spec.DeploymentTargets {
		same := lines[target.Name]
		if len(same) == 1 {
			targets, kept = append(targets, target), append(kept, d.lines[i])
			continue
		}
		d.repeatedTarget(TargetName(w.Name, target.Name), target.Labels, d.lines[i], same)
	}
	w.Spec.DeploymentTargets, d.lines = targets, kept
}

func (d *decoder) repeatedTarget(name string, labels map[string]string, line int, same []int) {
	workload, failed := d.object, d.failed
	defer func() { d.object, d.failed = workload, failed }()
	d.object = Ref{Kind: kindTarget, Name: name}
	at := Position{Line: line}
	d.parts = append(d.parts, Unreadable{Ref: d.object, Labels: labels, Position: at})
	if line == same[0] {
		d.fail(KindDuplicate, &yaml.Node{Line: line}, "rename or remove all but one", "the target is defined more than once, on lines %s", joinLines(same))
	}
}

func checkTarget(d *decoder, root *yaml.Node, t *v1alpha1.DeploymentTarget) {
	d.checkTargetSpec(root, &t.Spec, "spec")
	d.require(root, "metadata", "labels", workloadLabel)
	d.name(root, dnsLabel, "metadata", "labels", workloadLabel)
	if n := lookup(root, "metadata", "labels", workspaceLabel); n != nil {
		d.workspace(n, readText(n), "metadata.labels.workspace")
	}
}
