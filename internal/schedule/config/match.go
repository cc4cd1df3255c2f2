package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Labels that match names instead of labels.
const (
	labelClusterType = "cluster-type"
	labelTarget      = "deployment-target"
	labelWorkload    = "workload"
)

// label is one requirement of a layer: a key and the value it has to have.
type label struct{ key, value string }

// vocabulary numbers every label that some layer or schema requires,
// so that a target with fifty labels is as quick to match as one with none.
type vocabulary map[label]int

// number returns the number of a label, a new one if need be.
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
	ids []int  // the same as a list, ascending
}

// facts lists which of the known requirements labels and names meet.
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

// isName is true for the labels that stand for names: an ordinary label of that key has no say.
func isName(key string) bool {
	return key == labelClusterType || key == labelTarget || key == labelWorkload
}

func (v vocabulary) clusterType(ct *fleet.ClusterType) facts {
	return v.facts(ct.Labels, label{labelClusterType, ct.Name})
}

func (v vocabulary) target(t *fleet.Target) facts {
	return v.facts(t.Labels, label{labelTarget, t.Name}, label{labelWorkload, t.Workload})
}

// index finds the layers, or schemas, of which every requirement is met. Each is filed under one of its requirements,
// so that only those are tested which have at least that one in common with the cluster type or the target.
type index struct {
	needs [][]int
	under map[int][]int
	free  []int // without any requirement
}

// file adds the next item, which requires the labels.
func (x *index) file(v vocabulary, labels map[string]string) {
	item := len(x.needs)
	needs, best := []int{}, -1
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		id := v.number(label{key, labels[key]})
		needs = append(needs, id)
		// Names tell items apart better than any other label does.
		if best < 0 || isName(key) {
			best = id
		}
	}
	x.needs = append(x.needs, needs)
	if best < 0 {
		x.free = append(x.free, item)
		return
	}
	if x.under == nil {
		x.under = map[int][]int{}
	}
	x.under[best] = append(x.under[best], item)
}

// match returns the items of which every requirement is met by one of the two, ascending.
func (x *index) match(ct, target facts) []int {
	found := slices.Clone(x.free)
	for _, id := range ct.ids {
		found = x.collect(found, id, ct, target)
	}
	for _, id := range target.ids {
		if !ct.has[id] { // otherwise they are already there
			found = x.collect(found, id, ct, target)
		}
	}
	slices.Sort(found)
	return found
}

func (x *index) collect(found []int, id int, ct, target facts) []int {
	lacking := func(id int) bool { return !ct.has[id] && !target.has[id] }
	for _, item := range x.under[id] {
		if !slices.ContainsFunc(x.needs[item], lacking) {
			found = append(found, item)
		}
	}
	return found
}

// labelPlatformConfig marks a ConfigMap as platform configuration; it matches nothing.
const labelPlatformConfig = "platform-config"

// reconcilerLabels are the prefixes of labels that reconcilers set on what they apply.
var reconcilerLabels = []string{"kustomize.toolkit.fluxcd.io/", "app.kubernetes.io/", "argocd.argoproj.io/"}

// matching leaves out the labels that have no part in matching.
// Readable objects come without them; unreadable ones carry their labels as written.
func matching(labels map[string]string) map[string]string {
	kept := map[string]string{}
	for key, value := range labels {
		reconciler := slices.ContainsFunc(reconcilerLabels, func(p string) bool { return strings.HasPrefix(key, p) })
		if key != labelPlatformConfig && !reconciler {
			kept[key] = value
		}
	}
	return kept
}
