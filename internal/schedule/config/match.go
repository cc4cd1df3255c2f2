package config

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Labels that match names instead of labels.
const (
	labelCluster     = "cluster"
	labelClusterType = "cluster-type"
	labelTarget      = "deployment-target"
	labelWorkload    = "workload"
)

// label is one requirement of a layer.
type label struct{ key, value string }

// vocabulary numbers every label that a layer or schema requires.
// Other labels of a target cost nothing in matching.
type vocabulary map[label]int

// number returns the number of a label, and assigns one if it is new.
func (v vocabulary) number(l label) int {
	id, known := v[l]
	if !known {
		id = len(v)
		v[l] = id
	}
	return id
}

// facts are the requirements that a cluster type, a cluster or a target meets, by number, ascending. They are few, even if the layers
// of a fleet have a label for each of its clusters.
type facts []int

func (f facts) has(id int) bool {
	_, found := slices.BinarySearch(f, id)
	return found
}

// facts returns the requirements that labels and names meet.
func (v vocabulary) facts(labels map[string]string, names ...label) facts {
	var f facts
	for key, value := range labels {
		if id, known := v[label{key, value}]; known && !isName(key) {
			f = append(f, id)
		}
	}
	for _, name := range names {
		if id, known := v[name]; known {
			f = append(f, id)
		}
	}
	slices.Sort(f)
	return f
}

// isName reports whether a label matches a name. An object's own label with such a key is ignored.
func isName(key string) bool {
	return key == labelCluster || key == labelClusterType || key == labelTarget || key == labelWorkload
}

func (v vocabulary) clusterType(ct *fleet.ClusterType) facts {
	names := []label{{labelClusterType, ct.Name}}
	if ct.Cluster != "" {
		names = append(names, label{labelCluster, ct.Cluster})
	}
	return v.facts(ct.ClusterLabels(), names...)
}

func (v vocabulary) target(t *fleet.Target) facts {
	return v.facts(t.Labels, label{labelTarget, t.Name}, label{labelWorkload, t.Workload})
}

// index finds the layers, or schemas, whose requirements are all met. Each is listed under one of its requirements,
// so that only items with that one in common with the cluster type or the target are tested. It is the one that the fewest
// items have: of "region: west" and "cluster: west-001", the cluster.
type index struct {
	needs         [][]int
	byNeed        map[int][]int
	unconditional []int
}

// add adds the next item, which requires the labels.
func (x *index) add(v vocabulary, labels map[string]string) {
	needs := make([]int, 0, len(labels))
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		needs = append(needs, v.number(label{key, labels[key]}))
	}
	x.needs = append(x.needs, needs)
}

// build lists the added items under their requirements.
func (x *index) build() {
	common := map[int]int{}
	for _, needs := range x.needs {
		for _, id := range needs {
			common[id]++
		}
	}
	x.byNeed = make(map[int][]int, len(common))
	for item, needs := range x.needs {
		if len(needs) == 0 {
			x.unconditional = append(x.unconditional, item)
			continue
		}
		rarest := slices.MinFunc(needs, func(a, b int) int { return cmp.Compare(common[a], common[b]) })
		x.byNeed[rarest] = append(x.byNeed[rarest], item)
	}
}

// match returns the items whose requirements are all met by the cluster type or the target, ascending.
func (x *index) match(ct, target facts) []int {
	found := slices.Clone(x.unconditional)
	for _, id := range ct {
		found = x.collect(found, id, ct, target)
	}
	for _, id := range target {
		if !ct.has(id) { // otherwise already collected
			found = x.collect(found, id, ct, target)
		}
	}
	slices.Sort(found)
	return found
}

func (x *index) collect(found []int, id int, ct, target facts) []int {
	for _, item := range x.byNeed[id] {
		if x.meet(item, ct, target) {
			found = append(found, item)
		}
	}
	return found
}

// meet reports whether the cluster type or the target meets each requirement of an item.
func (x *index) meet(item int, ct, target facts) bool {
	return !slices.ContainsFunc(x.needs[item], func(id int) bool { return !ct.has(id) && !target.has(id) })
}
