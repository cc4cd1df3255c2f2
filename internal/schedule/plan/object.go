package plan

import (
	"cmp"
	"slices"

	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// Object identifies an object in a cluster.
type Object = bundle.Object

// lostObjects returns the objects that the old texts contain and the new ones do not. Those that take others along come first.
func lostObjects(old, now [][]byte) []Object {
	if len(old) == len(now) && slices.EqualFunc(old, now, bundle.SameObjects) {
		return nil
	}
	kept := map[Object]bool{}
	for _, text := range now {
		for _, o := range bundle.Objects(text) {
			kept[o] = true
		}
	}
	var lost []Object
	for _, text := range old {
		for _, o := range bundle.Objects(text) {
			if !kept[o] {
				kept[o] = true
				lost = append(lost, o)
			}
		}
	}
	slices.SortStableFunc(lost, func(a, b Object) int { return cmp.Compare(rank(a), rank(b)) })
	return lost
}

func rank(o Object) int {
	switch {
	case o.Kind == "Namespace" || o.Applies():
		return 0
	case o.Kind == "ConfigMap" || o.Kind == "Secret":
		return 2
	}
	return 1
}
