package values

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Composed is the configuration of a target. It is immutable, and can be shared.
type Composed struct {
	// Data are the values as the chart gets them. It is never nil.
	Data map[string]any
	// Keys has an entry for every value, sorted by path.
	Keys []Key
	// Vars are the names of the variables that the values refer to, sorted.
	Vars []string
	// Digest identifies Data.
	Digest fleet.Digest

	root *node
}

// Key is one value with its provenance.
type Key struct {
	// Path is the key, dotted within maps: "logging.level". Keys that contain dots or brackets are quoted.
	Path string `json:"path"`
	// Value is the value as text. Lists are JSON.
	Value string `json:"value"`
	// Written is the original text if a reference in it was expanded.
	Written string `json:"written,omitempty"`
	// Expression is the expression that computed the value, and Reads what it reads, sorted: "config.host", "level.site".
	Expression string   `json:"expression,omitempty"`
	Reads      []string `json:"reads,omitempty"`
	// From is the value's origin.
	From fleet.Position `json:"from"`
	// Over are the values that it overrode, the last one first.
	Over []Overridden `json:"over,omitempty"`
}

// Overridden is a value that was overridden.
type Overridden struct {
	// Value is the value as text, as written. A map that was replaced as a whole is JSON.
	Value string `json:"value"`
	// From is its origin.
	From fleet.Position `json:"from"`
}

// Compose merges the layers, the last one on top, and expands references to variables. Expressions have no values: see [Compute].
func Compose(layers []*Layer, vars Vars) *Composed {
	c := &computation{layers: layers}
	return compose(layers, vars, map[string]bool{}, c.layer)
}

// Merge returns the layers as one, the last one on top. Expressions stay as they are written.
func Merge(layers []*Layer) *Layer {
	root := &node{fields: map[string]*node{}}
	for _, l := range layers {
		if l.root != nil && l.root.fields != nil {
			root = merge(root, l.root)
		}
	}
	return &Layer{root: root}
}

// compose merges what resolve returns of each layer, nil for nothing. used are the variables that values refer to so far.
func compose(layers []*Layer, vars Vars, used map[string]bool, resolve func(i int, l *Layer) *node) *Composed {
	root := &node{fields: map[string]*node{}}
	for i, l := range layers {
		if n := resolve(i, l); n != nil && n.fields != nil { // an empty layer has no effect
			root = merge(root, n)
		}
	}
	c := &Composed{Data: map[string]any{}, root: root}
	if len(root.fields) > 0 {
		c.Data = root.data(vars).(map[string]any)
		vars.noteWritten(root, used)
		root.eachLeaf("", func(path string, leaf *node) { c.Keys = append(c.Keys, leaf.key(path, vars)) })
	}
	c.Vars = slices.Sorted(maps.Keys(used))
	slices.SortFunc(c.Keys, func(a, b Key) int { return cmp.Compare(a.Path, b.Path) })
	encoded, _ := json.Marshal(c.Data) // values came from YAML, so each has a JSON form
	c.Digest = sha256.Sum256(encoded)
	return c
}

// Types returns the JSON type of the value at a path of keys, as a list; empty without a value.
func (c *Composed) Types(path []string) []string {
	n := c.root
	for _, key := range path {
		if n = n.fields[key]; n == nil {
			return nil
		}
	}
	switch n.value.(type) {
	case string:
		return []string{"string"}
	case bool:
		return []string{"boolean"}
	case []any:
		return []string{"array"}
	case float64, int, int64:
		return []string{"number"}
	}
	return nil
}

func (n *node) key(path string, vars Vars) Key {
	key := Key{Path: path, Value: text(n.data(vars)), From: n.at, Over: n.over}
	if written := text(n.value); written != key.Value {
		key.Written = written
	}
	if n.by != nil {
		key.Expression = n.by.String()
		for _, r := range n.by.Reads() {
			key.Reads = append(key.Reads, r.String())
		}
	}
	return key
}

// merge merges b over a. Neither is modified; the result shares unchanged parts.
func merge(a, b *node) *node {
	if a == nil {
		return b
	}
	if a.fields == nil || b.fields == nil {
		return replace(a, b)
	}
	merged := *a
	merged.fields = maps.Clone(a.fields)
	for key, field := range b.fields {
		merged.fields[key] = merge(merged.fields[key], field)
	}
	return &merged
}

// replace replaces a with b, and records what b overrode. An empty map over a map has no effect.
func replace(a, b *node) *node {
	if empty, isMap := b.value.(map[string]any); isMap && len(empty) == 0 && a.fields != nil {
		return a
	}
	lost := append([]Overridden{{Value: text(a.data(nil)), From: a.at}}, a.losses()...)
	return b.note(lost)
}

// losses returns the values that a node's values overrode.
func (n *node) losses() []Overridden {
	var all []Overridden
	n.eachLeaf("", func(_ string, leaf *node) { all = append(all, leaf.over...) })
	return all
}

// note returns a copy of the node whose first value, in the order of the keys, records lost as overridden.
func (n *node) note(lost []Overridden) *node {
	c := *n
	if n.fields == nil {
		c.over = slices.Concat(lost, n.over)
		return &c
	}
	first := n.keys()[0]
	c.fields = maps.Clone(n.fields)
	c.fields[first] = n.fields[first].note(lost)
	return &c
}
