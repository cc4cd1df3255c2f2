package fleet

import (
	"cmp"

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
	return p
}

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
