package config

import (
	"maps"
	"slices"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Labels that match names instead of labels.
const (
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

// facts are the requirements that a cluster type or a target meets.
type facts struct {
	has []bool // by number
	ids []int  // ascending
}

// facts returns the requirements that labels and names meet.
func (v vocabulary) facts(labels map[string]string, names ...label) facts {
	f := facts{has: make([]bool, len(v))}
	for key, value := range labels {
		if !isName(key) {
			f.add(v, label{key, value})
		}
	}
	for _, name := range names {
		f.add(v, name)
	}
	slices.Sort(f.ids)
	return f
}

func (f *facts) add(v vocabulary, l label) {
	if id, known := v[l]; known && !f.has[id] {
		f.has[id] = true
		f.ids = append(f.ids, id)
	}
}

// isName reports whether a label matches a name. An object's own label with such a key is ignored.
func isName(key string) bool {
	return key == labelClusterType || key == labelTarget || key == labelWorkload
}

func (v vocabulary) clusterType(ct *fleet.ClusterType) facts {
	return v.facts(ct.Labels, label{labelClusterType, ct.Name})
}

func (v vocabulary) target(t *fleet.Target) facts {
	return v.facts(t.Labels, label{labelTarget, t.Name}, label{labelWorkload, t.Workload})
}

// index finds the layers, or schemas, whose requirements are all met. Each is listed under one of its requirements,
// so that only items with that one in common with the cluster type or the target are tested.
type index struct {
	needs         [][]int
	byNeed        map[int][]int
	unconditional []int
}

// add adds the next item, which requires the labels.
func (x *index) add(v vocabulary, labels map[string]string) {
	item := len(x.needs)
	needs, best := []int{}, -1
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		id := v.number(label{key, labels[key]})
		needs = append(needs, id)
		// Names are more selective than other labels.
		if best < 0 || isName(key) {
			best = id
		}
	}
	x.needs = append(x.needs, needs)
	if best < 0 {
		x.unconditional = append(x.unconditional, item)
		return
	}
	if x.byNeed == nil {
		x.byNeed = map[int][]int{}
	}
	x.byNeed[best] = append(x.byNeed[best], item)
}

// match returns the items whose requirements are all met by the cluster type or the target, ascending.
func (x *index) match(ct, target facts) []int {
	found := slices.Clone(x.unconditional)
	for _, id := range ct.ids {
		found = x.collect(found, id, ct, target)
	}
	for _, id := range target.ids {
		if !ct.has[id] { // otherwise already collected
			found = x.collect(found, id, ct, target)
		}
	}
	slices.Sort(found)
	return found
}

func (x *index) collect(found []int, id int, ct, target facts) []int {
	lacking := func(id int) bool { return !ct.has[id] && !target.has[id] }
	for _, item := range x.byNeed[id] {
		if !slices.ContainsFunc(x.needs[item], lacking) {
			found = append(found, item)
		}
	}
	return found
}
