package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// defaultConfig is the default config type of a cluster type.
const defaultConfig = "configmap"

func checkClusterType(d *decoder, root *yaml.Node, _ *v1alpha1.ClusterType) {
	d.name(root, dnsLabel, "spec", "extends")
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
		digests = append(digests, o.Digest)
	}
	for _, o := range slices.Backward(chain) {
		maps.Copy(ct.Labels, o.Value.Labels)
	}
	ct.ConfigType = cmp.Or(ct.ConfigType, defaultConfig)
	ct.Digest = combine(digests...)
	return ct
}
