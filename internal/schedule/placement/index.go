package placement

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// object is what a selector can see of a target or of a cluster type.
type object struct {
	workspace string // only targets have one
	labels    labels.Set
}

func targetObjects(targets []*fleet.Target) []object {
	objects := make([]object, len(targets))
	for i, t := range targets {
		objects[i] = object{workspace: t.Workspace, labels: t.Labels}
	}
	return objects
}

func clusterTypeObjects(clusterTypes []*fleet.ClusterType) []object {
	objects := make([]object, len(clusterTypes))
	for i, ct := range clusterTypes {
		objects[i] = objectOf(ct)
	}
	return objects
}

func objectOf(ct *fleet.ClusterType) object { return object{labels: ct.Labels} }

// index finds the objects that satisfy conditions. Its lists hold ascending positions, in the order of names.
// Building it takes time proportional to the number of labels.
type index struct {
	objects     []object
	all         []int32
	byWorkspace map[string][]int32
	byKey       map[string]labelIndex
}

// labelIndex has the objects with one label, in total and by value.
type labelIndex struct {
	all     []int32
	byValue map[string][]int32
}

func newIndex(objects []object) *index {
	x := &index{
		objects:     objects,
		byWorkspace: make(map[string][]int32),
		byKey:       make(map[string]labelIndex),
	}
	for i, o := range objects {
		position := int32(i)
		x.all = append(x.all, position)
		x.byWorkspace[o.workspace] = append(x.byWorkspace[o.workspace], position)
		for key, value := range o.labels {
			x.addLabel(key, value, position)
		}
	}
	return x
}

func (x *index) addLabel(key, value string, position int32) {
	label, ok := x.byKey[key]
	if !ok {
		label.byValue = make(map[string][]int32)
	}
	label.all = append(label.all, position)
	label.byValue[value] = append(label.byValue[value], position)
	x.byKey[key] = label
}

// find returns the objects that satisfy all conditions.
// It tests only those that the most selective condition can match.
func (x *index) find(c conditions) []int32 {
	if c.never {
		return nil
	}
	var found []int32
	start := x.start(c)
	for _, list := range start {
		for _, position := range list {
			// Testing the starting condition again costs less than tracking which one it was.
			if c.hold(x.objects[position]) {
				found = append(found, position)
			}
		}
	}
	if len(start) > 1 {
		// A requirement may name a value twice.
		slices.Sort(found)
		found = slices.Compact(found)
	}
	return found
}

// start returns the shortest lists that together hold every object that can satisfy the conditions.
func (x *index) start(c conditions) [][]int32 {
	best, size := [][]int32{x.all}, len(x.all)
	consider := func(lists ...[]int32) {
		if n := total(lists); n < size {
			best, size = lists, n
		}
	}
	if c.workspace != "" {
		consider(x.byWorkspace[c.workspace])
	}
	for i := range c.requirements {
		if lists, ok := x.supersets(&c.requirements[i]); ok {
			consider(lists...)
		}
	}
	return best
}

// supersets returns lists that together hold every object a requirement can select.
// It returns false for requirements that objects without the label satisfy: the index cannot narrow those down.
func (x *index) supersets(r *labels.Requirement) ([][]int32, bool) {
	label := x.byKey[r.Key()]
	switch r.Operator() {
	case selection.NotIn, selection.NotEquals, selection.DoesNotExist:
		return nil, false
	case selection.In, selection.Equals, selection.DoubleEquals:
		var lists [][]int32
		for _, value := range r.ValuesUnsorted() {
			lists = append(lists, label.byValue[value])
		}
		return lists, true
	default: // Exists, GreaterThan, LessThan
		return [][]int32{label.all}, true
	}
}

func total(lists [][]int32) int {
	n := 0
	for _, list := range lists {
		n += len(list)
	}
	return n
}
