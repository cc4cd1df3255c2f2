package config

import (
	"slices"
	"strconv"
	"sync"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/formula"
)

// layerSet holds layers that apply together on a stack, with everything that depends on them alone.
type layerSet struct {
	*Layers
	// key identifies the set within its stack.
	key       string
	templates []template
	// cells are the expressions, and of the nodes that they compute; placed has the values of all keys, if there are cells.
	cells  []formula.Cell
	of     []*node
	placed map[string][]placed
	// static is the configuration without the keys that have templates, dynamic has the values of those keys.
	// Keys do not influence each other, so new template results only require merging dynamic again.
	static  *part
	dynamic map[string][]*node
	// problems are the conflicts, and the values that cannot be used.
	problems []fleet.Problem
	// precedence computes the notices of [Composer.Precedence] once.
	precedence func() []fleet.Problem
}

// newLayerSet merges the keys that do not depend on templates. Layers are in order of increasing precedence.
func newLayerSet(key string, layers []*layer) *layerSet {
	set := &layerSet{Layers: &Layers{layers}, key: key, static: newPart(), dynamic: map[string][]*node{}, problems: conflicts(layers)}
	for _, l := range layers {
		set.templates = append(set.templates, l.templates...)
		set.problems = append(set.problems, l.problems...)
	}
	set.addCells()
	for key, values := range valuesByKey(layers) {
		if slices.ContainsFunc(values, func(n *node) bool { return n.dynamic || n.formula != nil }) {
			set.dynamic[key] = values
			continue
		}
		set.static.add(key, fold(values, nil, nil))
	}
	set.precedence = sync.OnceValue(func() []fleet.Problem { return precedence(layers) })
	return set
}

// layerSet returns the set of these layers; each set is created once.
func (s *Stack) layerSet(ids []int) *layerSet {
	key := string(numbers(ids))
	s.mu.Lock()
	defer s.mu.Unlock()
	set, known := s.layerSets[key]
	if !known {
		layers := make([]*layer, len(ids))
		for i, id := range ids {
			layers[i] = s.composer.layers[id]
		}
		set = newLayerSet(key, layers)
		s.layerSets[key] = set
	}
	return set
}

// compositionKey identifies the layers together with the results of their templates and expressions.
func (set *layerSet) compositionKey(results map[string]string, computed map[*node]*node) string {
	if len(set.templates) == 0 && len(set.cells) == 0 {
		return set.key
	}
	key := []byte(set.key)
	for _, t := range set.templates {
		result, ok := results[t.leaf.raw]
		key = strconv.AppendBool(key, ok)
		key = strconv.AppendInt(key, int64(len(result)), 10)
		key = append(append(key, ':'), result...)
	}
	for _, n := range set.of {
		switch result, ok := computed[n]; {
		case !ok:
			key = append(key, 'o')
		case result == nil:
			key = append(key, 'n')
		default:
			key = appendValue(append(key, 'v'), result.data())
		}
	}
	return string(key)
}
