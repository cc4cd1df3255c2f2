package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/google/cel-go/cel"
	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// checkPolicy reports selectors that are absent, or that Kubernetes would refuse. An absent one would select everything.
func checkPolicy(d *decoder, root *yaml.Node, p *v1alpha1.SchedulingPolicy) {
	d.require(root, "spec", "deploymentTargetSelector")
	d.require(root, "spec", "clusterTypeSelector")
	d.selector(root, p.Spec.DeploymentTargetSelector.LabelSelector, "spec", "deploymentTargetSelector", "labelSelector")
	d.selector(root, p.Spec.ClusterTypeSelector.LabelSelector, "spec", "clusterTypeSelector", "labelSelector")
	oneOf(d, root, p.Spec.Mode, policyModes, "spec", "mode")
	oneOf(d, root, p.Spec.Preemption, []v1alpha1.Preemption{v1alpha1.PreemptNever, v1alpha1.PreemptLowerPriority}, "spec", "preemption")
	d.elements(root, len(p.Spec.Filters), func(n *yaml.Node, i int) {
		d.require(n, "expression")
		d.expression(n, p.Spec.Filters[i].Expression, filterResults)
	}, "spec", "filters")
	d.elements(root, len(p.Spec.Tolerations), func(n *yaml.Node, i int) { d.toleration(n, p.Spec.Tolerations[i]) }, "spec", "tolerations")
	d.requiredFeatures(root, p.Spec.RequiredFeatures, "spec", "requiredFeatures")
	d.elements(root, len(p.Spec.Preferences), func(n *yaml.Node, i int) { d.preference(n, p.Spec.Preferences[i]) }, "spec", "preferences")
	d.elements(root, len(p.Spec.Spread), func(n *yaml.Node, i int) {
		d.require(n, "key")
		oneOf(d, n, p.Spec.Spread[i].WhenUnsatisfiable, []v1alpha1.SpreadAction{v1alpha1.DoNotSchedule, v1alpha1.ScheduleAnyway}, "whenUnsatisfiable")
		d.atLeast(n, int(p.Spec.Spread[i].MaxSkew), 1, "maxSkew")
	}, "spec", "spread")
	d.elements(root, len(p.Spec.Extenders), func(n *yaml.Node, i int) {
		d.require(n, "name")
		d.name(n, dnsLabel, "name")
	}, "spec", "extenders")
	d.name(root, dnsLabel, "spec", "schedulerName")
	d.policyFields(root, p.Spec)
}

// policyFields reports fields that have no effect, or no meaning, together.
func (d *decoder) policyFields(root *yaml.Node, spec v1alpha1.SchedulingPolicySpec) {
	if spec.MaxClusterTypes != nil {
		d.atLeast(root, int(*spec.MaxClusterTypes), 1, "spec", "maxClusterTypes")
	}
	if spec.MoveThreshold != nil {
		d.atLeast(root, int(*spec.MoveThreshold), 1, "spec", "moveThreshold")
	}
	without := func(field, why string) {
		if n := lookup(root, "spec", field); n != nil && n.Tag != nullTag {
			d.fail(KindInvalidValue, n, "", "%s has no effect: %s", d.field("spec", field), why)
		}
	}
	if spec.Mode == v1alpha1.PolicyExclude {
		for _, field := range []string{
			"maxClusterTypes", "preferences", "spread", "moveThreshold", "preemption", "priority", "tolerations", "schedulerName", "extenders",
		} {
			without(field, "a policy of mode exclude only selects")
		}
		return
	}
	if spec.Mode == v1alpha1.PolicyOnDemand {
		for _, field := range []string{"maxClusterTypes", "preferences", "spread", "moveThreshold", "schedulerName", "extenders"} {
			without(field, "a policy of mode onDemand assigns what others depend on, and does not choose")
		}
		return
	}
	external := spec.SchedulerName != "" && spec.SchedulerName != DefaultScheduler
	if external {
		without("extenders", "they are for the default scheduler")
		without("moveThreshold", "it is for the default scheduler")
	}
	if spec.MaxClusterTypes == nil && !external {
		without("preferences", "without maxClusterTypes, all cluster types are chosen")
		without("spread", "without maxClusterTypes, all cluster types are chosen")
	}
	if len(spec.Preferences) == 0 && !slices.ContainsFunc(spec.Extenders, func(e v1alpha1.Extender) bool { return e.Weight != 0 }) {
		without("moveThreshold", "without preferences, all cluster types have the same score")
	}
}

var (
	policyModes   = []v1alpha1.PolicyMode{v1alpha1.PolicyInclude, v1alpha1.PolicyExclude, v1alpha1.PolicyExclusive, v1alpha1.PolicyOnDemand}
	taintEffects  = []v1alpha1.TaintEffect{v1alpha1.NoSchedule, v1alpha1.PreferNoSchedule, v1alpha1.NoExecute}
	filterResults = []*cel.Type{cel.BoolType}
	scoreResults  = []*cel.Type{cel.BoolType, cel.IntType, cel.UintType, cel.DoubleType}
)

// elements calls check for each element of a list that was decoded, with the path of the element.
func (d *decoder) elements(root *yaml.Node, decoded int, check func(n *yaml.Node, i int), keys ...string) {
	list := lookup(root, keys...)
	if list == nil || list.Kind != yaml.SequenceNode {
		return
	}
	for i, n := range list.Content[:min(decoded, len(list.Content))] {
		d.within(strings.Join(keys, ".")+"["+strconv.Itoa(i)+"]", func() { check(n, i) })
	}
}

func (d *decoder) atLeast(root *yaml.Node, value, least int, keys ...string) {
	if n := lookup(root, keys...); n != nil && n.Tag != nullTag && value < least {
		d.fail(KindInvalidValue, n, "", "%s is %d, want at least %d", d.field(keys...), value, least)
	}
}

func (d *decoder) expression(n *yaml.Node, text string, results []*cel.Type) {
	if text == "" {
		return
	}
	if _, err := compileExpression(text, results...); err != nil {
		hint := ""
		if strings.Contains(err.Error(), "undeclared reference") {
			hint = "there is " + strings.Join(slices.Sorted(maps.Keys(variables)), ", ")
		}
		d.fail(KindInvalidValue, lookup(n, "expression"), hint, "%s cannot be used: %v", d.field("expression"), err)
	}
}

func (d *decoder) toleration(n *yaml.Node, t v1alpha1.Toleration) {
	oneOf(d, n, t.Operator, []v1alpha1.TolerationOperator{v1alpha1.TolerationEqual, v1alpha1.TolerationExists}, "operator")
	oneOf(d, n, t.Effect, taintEffects, "effect")
	switch {
	case t.Key == "" && t.Operator != v1alpha1.TolerationExists:
		d.fail(KindMissingField, n, `set the key, or operator: Exists for every taint`, "%s is missing", d.field("key"))
	case t.Operator == v1alpha1.TolerationExists && t.Value != "":
		d.fail(KindInvalidValue, n, "remove the value, or the operator", "%s has no effect with operator Exists", d.field("value"))
	}
}

func (d *decoder) requiredFeatures(root *yaml.Node, features []v1alpha1.RequiredFeature, keys ...string) {
	names := map[string]bool{}
	d.elements(root, len(features), func(n *yaml.Node, i int) {
		f := features[i]
		d.require(n, "name")
		if names[f.Name] {
			d.fail(KindDuplicate, n, "keep one of them", "the feature %s is there twice", quoteShort(f.Name))
		}
		names[f.Name] = true
		if f.Version == "" {
			return
		}
		if _, err := semver.NewConstraint(f.Version); err != nil {
			d.fail(KindInvalidValue, lookup(n, "version"), `write it like ">=1.29, <2"`, "%s: %v", d.field("version"), err)
		}
	}, keys...)
}

func (d *decoder) preference(n *yaml.Node, p v1alpha1.Preference) {
	d.require(n, "weight")
	if p.Weight < -100 || p.Weight > 100 {
		d.fail(KindInvalidValue, lookup(n, "weight"), "", "%s is %d, want -100 to 100", d.field("weight"), p.Weight)
	}
	if (p.ClusterTypeSelector == nil) == (p.Expression == "") {
		d.fail(KindInvalidValue, n, "", "%s has either clusterTypeSelector or expression", d.field())
		return
	}
	d.expression(n, p.Expression, scoreResults)
	d.selector(n, p.ClusterTypeSelector, "clusterTypeSelector")
}

func (d *decoder) selector(root *yaml.Node, selector *metav1.LabelSelector, keys ...string) {
	if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
		d.fail(KindInvalidValue, lookup(root, keys...), "", "%s: %v", d.field(keys...), err)
	}
}

// compilePolicy returns the policy with compiled selectors. Reading has checked them.
func compilePolicy(o Object[v1alpha1.SchedulingPolicy]) *Policy {
	spec := o.Value.Spec
	p := &Policy{Name: o.Value.Name, Workspace: spec.DeploymentTargetSelector.Workspace, Origin: o.Origin}
	p.Scheduler, p.Extenders = cmp.Or(spec.SchedulerName, DefaultScheduler), spec.Extenders
	p.Targets, p.TargetSelector = compileSelector(spec.DeploymentTargetSelector.LabelSelector)
	p.ClusterTypes, p.ClusterTypeSelector = compileSelector(spec.ClusterTypeSelector.LabelSelector)
	p.Mode, p.Priority = cmp.Or(spec.Mode, v1alpha1.PolicyInclude), int(spec.Priority)
	p.Preempts = spec.Preemption == v1alpha1.PreemptLowerPriority
	p.Tolerations = spec.Tolerations
	p.RequiredFeatures = compileFeatures(spec.RequiredFeatures)
	if spec.MaxClusterTypes != nil {
		p.Max = int(*spec.MaxClusterTypes)
	}
	if spec.MoveThreshold != nil {
		p.MoveThreshold = int(*spec.MoveThreshold)
	}
	for _, f := range spec.Filters {
		if e, err := compileExpression(f.Expression, filterResults...); err == nil {
			p.Filters = append(p.Filters, Filter{Expression: e, Message: f.Message})
		}
	}
	for _, f := range spec.Preferences {
		preference := Preference{Weight: int(f.Weight)}
		if f.ClusterTypeSelector != nil {
			preference.Selector, _ = compileSelector(f.ClusterTypeSelector)
		} else if e, err := compileExpression(f.Expression, scoreResults...); err == nil {
			preference.Expression = e
		}
		p.Preferences = append(p.Preferences, preference)
	}
	for _, spread := range spec.Spread {
		p.Spread = append(p.Spread, Spread{
			Key: spread.Key, MaxSkew: max(int(spread.MaxSkew), 1), Soft: spread.WhenUnsatisfiable == v1alpha1.ScheduleAnyway,
		})
	}
	return p
}

// compileFeatures returns requirements with their versions parsed. Reading has checked them.
func compileFeatures(features []v1alpha1.RequiredFeature) []RequiredFeature {
	var all []RequiredFeature
	for _, f := range features {
		required := RequiredFeature{Name: f.Name, Version: f.Version}
		required.constraint, _ = semver.NewConstraint(f.Version)
		all = append(all, required)
	}
	return all
}

// MetBy reports whether a cluster type has the feature. If not, have says what it has.
func (f RequiredFeature) MetBy(ct *ClusterType) (met bool, have string) {
	version, exists := ct.Features[f.Name]
	switch {
	case !exists:
		return false, "no feature " + f.Name
	case f.Version == "":
		return true, ""
	case version == "":
		return false, f.Name + " without a version"
	}
	v, err := semver.NewVersion(version)
	if err != nil {
		return false, fmt.Sprintf("%s %s, which is not a version", f.Name, version)
	}
	have = f.Name + " " + version
	// A suffix such as -gke.100 marks a build of a vendor, not a version before 1.31.2.
	release, err := v.SetPrerelease("")
	return f.constraint != nil && (f.constraint.Check(v) || err == nil && f.constraint.Check(&release)), have
}

// String returns the requirement in readable form: kubernetes >=1.29.
func (f RequiredFeature) String() string { return strings.TrimSpace(f.Name + " " + f.Version) }

// compileSelector compiles a selector. An absent labelSelector matches everything, like an empty one.
func compileSelector(selector *metav1.LabelSelector) (labels.Selector, *metav1.LabelSelector) {
	if selector == nil {
		selector = &metav1.LabelSelector{}
	}
	compiled, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		compiled = labels.Nothing()
	}
	return compiled, selector
}

// lostExclusion returns an unreadable policy or file of the environment branch that may exclude pairs; nil if there is none.
func lostExclusion(branch *Objects) *Unreadable {
	for i, u := range branch.Unreadable {
		if !u.NoExclusion && (u.Ref.Kind == kindPolicy || u.Ref == (Ref{})) {
			return &branch.Unreadable[i]
		}
	}
	return nil
}
