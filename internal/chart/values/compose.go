package values

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Composed is the configuration of a target. It is immutable, and may be shared.
type Composed struct {
	// Data are the values as the chart gets them. It is never nil.
	Data map[string]any
	// Keys has an entry for every value, sorted by path.
	Keys []Key
	// Digest identifies Data.
	Digest fleet.Digest

	root *node
}

// Key is one value with its provenance.
type Key struct {
	// Path is the key, dotted within maps: "logging.level". Keys with dots or brackets in them are quoted.
	Path string `json:"path"`
	// Value is the value as text; lists are JSON.
	Value string `json:"value"`
	// Written is the text as it is written, where a reference in it was expanded.
	Written string `json:"written,omitempty"`
	// From is where the value is written.
	From fleet.Position `json:"from"`
	// Over is what it won against, the last one first.
	Over []Overridden `json:"over,omitempty"`
}

// Overridden is a value that lost.
type Overridden struct {
	// Value is the value as text, as it is written; a map that was replaced as a whole is JSON.
	Value string `json:"value"`
	// From is where it is written.
	From fleet.Position `json:"from"`
}

// Compose lays the layers over each other, the last one on top, and expands the references to the variables.
func Compose(layers []*Layer, vars Vars) *Composed {
	root := &node{fields: map[string]*node{}}
	for _, l := range layers {
		if l.root.fields != nil { // an empty layer says nothing
			root = merge(root, l.root)
		}
	}
	c := &Composed{Data: map[string]any{}, root: root}
	if len(root.fields) > 0 {
		c.Data = root.data(vars).(map[string]any)
		root.eachLeaf("", func(path string, leaf *node) { c.Keys = append(c.Keys, leaf.key(path, vars)) })
	}
	slices.SortFunc(c.Keys, func(a, b Key) int { return cmp.Compare(a.Path, b.Path) })
	encoded, _ := json.Marshal(c.Data) // values came from YAML, so that every one has a JSON form
	c.Digest = sha256.Sum256(encoded)
	return c
}

func (n *node) key(path string, vars Vars) Key {
	key := Key{Path: path, Value: text(vars.expandAny(n.value)), From: n.at, Over: n.over}
	if written := text(n.value); written != key.Value {
		key.Written = written
	}
	return key
}

// merge lays b over a. Neither is changed; the result shares what is not touched.
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

// replace puts b in the place of a, and notes what it won against. An empty map laid over a map leaves it as it is.
func replace(a, b *node) *node {
	if empty, isMap := b.value.(map[string]any); isMap && len(empty) == 0 && a.fields != nil {
		return a
	}
	lost := append([]Overridden{{Value: text(a.data(nil)), From: a.at}}, a.losses()...)
	return b.note(lost)
}

// losses are what the values of a node had won against themselves.
func (n *node) losses() []Overridden {
	var all []Overridden
	n.eachLeaf("", func(_ string, leaf *node) { all = append(all, leaf.over...) })
	return all
}

// note returns the node with its first value, in the order of the keys, having won against what is lost.
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
