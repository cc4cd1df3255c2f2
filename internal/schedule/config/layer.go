package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// layer is a ConfigMap with its values parsed, or the keys of a store's ConfigMap that have the same labels.
type layer struct {
	config *fleet.ConfigMap
	labels map[string]string
	// rank is the number of labels, order the position among all layers of the environment.
	rank, order int
	entries     []entry
	templates   []template
	formulas    []entry // the entries that are expressions
	// problems are the values that cannot be used. They hold every assignment that the layer applies to.
	problems []fleet.Problem
	// quoted are notices about values whose meaning depends on quotes.
	quoted []fleet.Problem
}

type entry struct {
	key   string
	value *node
}

// template is a leaf that has to be evaluated.
type template struct {
	path string
	leaf *node
}

// newLayers parses the ConfigMaps and sorts them by increasing precedence.
func newLayers(configs []*fleet.ConfigMap) []*layer {
	layers := make([]*layer, 0, len(configs))
	for _, c := range configs {
		if c.Store {
			layers = append(layers, storeLayers(c)...)
			continue
		}
		layers = append(layers, newLayer(c))
	}
	slices.SortStableFunc(layers, func(a, b *layer) int {
		return cmp.Or(cmp.Compare(a.step(), b.step()), cmp.Compare(a.rank, b.rank), cmp.Compare(a.config.Name, b.config.Name))
	})
	for i, l := range layers {
		l.order = i
	}
	return layers
}

// newLayer parses a ConfigMap that is not that of a store.
func newLayer(c *fleet.ConfigMap) *layer {
	l := &layer{config: c, labels: c.Labels, rank: len(c.Labels)}
	for _, e := range c.Entries {
		l.read(e)
	}
	return l
}

// step orders layers before the number of their labels: those of stores come after others, as in the original, and those of one
// cluster last, because nothing is more specific.
func (l *layer) step() int {
	switch _, one := l.labels[labelCluster]; {
	case one:
		return 2
	case l.config.Store:
		return 1
	}
	return 0
}

// storeLayers returns a layer for each set of labels in the keys of a store's ConfigMap.
func storeLayers(c *fleet.ConfigMap) []*layer {
	byLabels := map[string]*layer{}
	for _, e := range c.Entries {
		labels, key := fleet.StoreKey(e.Key)
		id := fmt.Sprintf("%q", labels)
		if byLabels[id] == nil {
			byLabels[id] = &layer{config: c, labels: labels, rank: len(labels)}
		}
		byLabels[id].read(fleet.ConfigEntry{Key: key, Value: e.Value})
	}
	var layers []*layer
	for _, id := range slices.Sorted(maps.Keys(byLabels)) {
		layers = append(layers, byLabels[id])
	}
	return layers
}

// read adds one key. A value that cannot be used becomes a problem.
func (l *layer) read(e fleet.ConfigEntry) {
	if l.config.Expressions {
		l.readFormula(e)
		return
	}
	value, err := readValue(l, e.Value)
	if err != nil {
		p := fleet.Problem{
			Severity: fleet.SeverityError,
			Kind:     fleet.KindConfigValue,
			Object:   l.ref(),
			Position: l.config.Position,
			Message:  fmt.Sprintf("the value of %s cannot be used: %v", e.Key, err),
			Hint:     "correct the value",
		}
		p.Position.Line = e.Value.Line
		if errors.Is(err, errBounds) {
			p.Kind = fleet.KindYAMLBounds
			p.Hint = "split the value, or replace its aliases by what they refer to"
		}
		l.problems = append(l.problems, p)
		return
	}
	value.replaces = l.config.Replace
	l.quoted = append(l.quoted, l.quoting(e)...)
	l.entries = append(l.entries, entry{e.Key, value})
	if value.dynamic {
		value.eachLeaf(e.Key, func(path string, leaf *node) {
			if leaf.template {
				l.templates = append(l.templates, template{path, leaf})
			}
		})
	}
}

func (l *layer) ref() fleet.Ref { return fleet.Ref{Kind: "ConfigMap", Name: l.config.Name} }

// valuesByKey returns the values that the layers give each key, in the order of the layers.
func valuesByKey(layers []*layer) map[string][]*node {
	values := map[string][]*node{}
	for _, l := range layers {
		for _, e := range l.entries {
			values[e.key] = append(values[e.key], e.value)
		}
	}
	return values
}

// fold merges the values of one key. results maps a template's text to its result;
// a template without a result is kept unevaluated.
//
// computed maps expressions to their results. One with the result nil has no value, and one without a result is kept as written.
func fold(values []*node, results map[string]string, computed map[*node]*node) *node {
	var merged *node
	for _, v := range values {
		if v.formula != nil {
			if result, ok := computed[v]; ok && result == nil {
				continue
			} else if ok {
				v = result
			}
		}
		merged = merge(merged, v.evaluated(results))
	}
	return merged
}
