package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// defaultConfig is the default config type of a cluster type.
const defaultConfig = "configmap"

func checkClusterType(d *decoder, root *yaml.Node, ct *v1alpha1.ClusterType) {
	d.name(root, dnsLabel, "spec", "extends")
	d.elements(root, len(ct.Spec.Taints), func(n *yaml.Node, i int) {
		d.require(n, "key")
		d.require(n, "effect")
		oneOf(d, n, ct.Spec.Taints[i].Effect, taintEffects, "effect")
	}, "spec", "taints")
	d.quantities(root, ct.Spec.Capacity, "spec", "capacity")
	oneOf(d, root, ct.Spec.Pull, []string{"flux", "argocd", "fleet", "direct", "none"}, "spec", "pull")
	if len(ct.Spec.Features) > maxFacts {
		d.fail(KindInvalidValue, lookup(root, "spec", "features"), "", "%s has %d features; the maximum is %d", d.field("spec", "features"), len(ct.Spec.Features), maxFacts)
	}
}

// maxQuantity bounds quantities, so that sums of them do not overflow.
const maxQuantity = int64(1) << 50

// maxResources bounds the resources of a cluster type or target.
const maxResources = 64

// quantities reports negative quantities, those that are too large to add up, and names that Kubernetes would refuse.
func (d *decoder) quantities(root *yaml.Node, quantities map[string]resource.Quantity, keys ...string) {
	if len(quantities) > maxResources {
		d.fail(KindInvalidValue, lookup(root, keys...), "", "%s has %d resources; the maximum is %d", d.field(keys...), len(quantities), maxResources)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(quantities)) {
		q := quantities[name]
		if len(content.IsLabelKey(name)) > 0 {
			d.fail(KindInvalidName, lookup(root, keys...), "", "%s: %s is not the name of a resource", d.field(keys...), quoteShort(name))
		}
		if q.Sign() < 0 || q.CmpInt64(maxQuantity) > 0 {
			d.fail(KindInvalidValue, lookup(root, append(keys, name)...), "", "%s is %s, want 0 to %d", d.field(append(keys, name)...), q.String(), maxQuantity)
		}
	}
}

// clusterTypeDocuments are the cluster types of an environment before inheritance, by name.
type clusterTypeDocuments map[string]Object[v1alpha1.ClusterType]

// clusterTypes adds the cluster types of the environment, with inherited values.
func (a *assembly) clusterTypes() {
	var all []Object[v1alpha1.ClusterType]
	for _, o := range a.configs {
		all = append(all, o.ClusterTypes...)
	}
	all = once(a, all)
	documents := clusterTypeDocuments{}
	for _, o := range all {
		documents[o.Value.Name] = o
	}
	for _, o := range all {
		chain, problem := documents.ancestors(o)
		if problem != nil {
			a.s.Problems = append(a.s.Problems, *problem)
			a.lose(o, Owner{})
			continue
		}
		a.s.ClusterTypes = append(a.s.ClusterTypes, inherit(chain))
	}
}

// ancestors returns a cluster type and its chain of ancestors, the nearest first,
// or the problem that breaks the chain.
func (all clusterTypeDocuments) ancestors(o Object[v1alpha1.ClusterType]) ([]Object[v1alpha1.ClusterType], *Problem) {
	chain, names := []Object[v1alpha1.ClusterType]{o}, []string{o.Value.Name}
	for at := o; at.Value.Spec.Extends != ""; {
		parent, known := all[at.Value.Spec.Extends]
		names = append(names, at.Value.Spec.Extends)
		problem := Problem{Severity: SeverityError, Object: o.Ref, Position: o.Position}
		path := strings.Join(names, " extends ")
		switch {
		case !known:
			problem.Kind, problem.Message = KindMissingObject, fmt.Sprintf("%s, which does not exist or cannot be read", path)
			problem.Hint = didYouMean(at.Value.Spec.Extends, all.besides(names))
			return nil, &problem
		case slices.Contains(names[:len(names)-1], parent.Value.Name):
			problem.Kind, problem.Message = KindExtendsCycle, path
			problem.Hint = "remove extends from one of them"
			return nil, &problem
		case len(chain) == MaxExtends:
			problem.Kind, problem.Message = KindExtendsCycle, fmt.Sprintf("%s: more than %d in a row", path, MaxExtends)
			return nil, &problem
		}
		chain, at = append(chain, parent), parent
	}
	return chain, nil
}

func (all clusterTypeDocuments) besides(names []string) []string {
	others := slices.Collect(maps.Keys(all))
	return slices.DeleteFunc(others, func(name string) bool { return slices.Contains(names, name) })
}

// inherit returns the first cluster type of a chain, with values it does not set inherited from the others.
func inherit(chain []Object[v1alpha1.ClusterType]) *ClusterType {
	first := chain[0]
	ct := &ClusterType{Name: first.Value.Name, Labels: map[string]string{}, Origin: first.Origin}
	digests := make([]Digest, 0, len(chain))
	for _, o := range chain {
		spec := o.Value.Spec
		ct.Reconciler = cmp.Or(ct.Reconciler, spec.Reconciler)
		ct.NamespaceService = cmp.Or(ct.NamespaceService, spec.NamespaceService)
		ct.ConfigType = cmp.Or(ct.ConfigType, spec.ConfigType)
		ct.Pull = cmp.Or(ct.Pull, spec.Pull)
		digests = append(digests, o.Digest)
	}
	for _, o := range slices.Backward(chain) {
		spec := o.Value.Spec
		maps.Copy(ct.Labels, o.Value.Labels)
		if spec.Taints != nil {
			ct.Taints = spec.Taints
		}
		if len(spec.Features) > 0 {
			ct.Features = overlay(ct.Features, spec.Features)
		}
		if len(spec.Capacity) > 0 {
			ct.Capacity = maps.Clone(ct.Capacity)
			if ct.Capacity == nil {
				ct.Capacity = map[string]resource.Quantity{}
			}
			maps.Copy(ct.Capacity, spec.Capacity)
		}
	}
	ct.ConfigType = cmp.Or(ct.ConfigType, defaultConfig)
	ct.Digest = combine(digests...)
	return ct
}
