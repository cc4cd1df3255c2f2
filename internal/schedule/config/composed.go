package config

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Composed is the configuration of one or more assignments. It is shared and immutable.
type Composed struct {
	// Data is ConfigData in templates: at the top level strings ("3306"), maps and lists.
	// Values inside maps and lists have their YAML types. Never nil.
	Data map[string]any
	// Texts are those of keys whose values are maps or lists, where formatting Data would not give what was written: the text as it is, if one
	// layer sets it, or else with numbers as they were written. It is shared.
	Texts map[string]string
	// Layers are those that apply.
	Layers *Layers
	// Digest identifies Data and Texts.
	Digest fleet.Digest
	// Lacks are the problems about required values that are missing. The slice is shared; do not change it.
	Lacks []fleet.Problem

	// results are those of the templates in the layers, computed those of the expressions.
	results  map[string]string
	computed map[*node]*node
}

// Keys returns an entry for every leaf, sorted by path. It merges the layers again: a fleet has too many configurations to keep where all
// of their values come from.
func (c *Composed) Keys() []Key {
	var keys []Key
	for key, values := range valuesByKey(c.Layers.list) {
		if value := fold(values, c.results, c.computed); value != nil { // nil if no expression has a result
			keys = value.appendKeys(keys, key)
		}
	}
	sortKeys(keys)
	return keys
}

// Layers are ConfigMaps, or parts of them, that apply together. They are immutable, and each [Stack] has a list only once.
type Layers struct {
	list []*layer // in order of increasing precedence
}

// Names returns the names of the ConfigMaps, in order of increasing precedence.
func (l *Layers) Names() []string {
	var names []string
	for _, l := range l.list {
		if !slices.Contains(names, l.config.Name) { // a store has several layers
			names = append(names, l.config.Name)
		}
	}
	return names
}

// Result is the configuration of one assignment, with its problems.
type Result struct {
	*Composed
	// Schemas are the names of the ConfigSchemas that apply, sorted. The slice is shared; do not change it.
	Schemas []string
	// Problems of this configuration, sorted: conflicts, values that the schema does not allow, failed templates.
	// Problem.Assignment is empty. Conflicts and broken objects give equal problems for all assignments they concern,
	// so that callers can remove duplicates. The slice may be shared; do not change it.
	Problems []fleet.Problem
	// Hold means that the assignment must keep its published state.
	Hold bool
}

// add adds errors, which hold the assignment. It copies the shared slice.
func (r *Result) add(errors []fleet.Problem) {
	if len(errors) > 0 {
		r.Problems = fleet.SortProblems(slices.Concat(r.Problems, errors))
		r.Hold = true
	}
}

// part holds some keys of a configuration in two forms.
type part struct {
	fields map[string]*node
	data   map[string]any
	texts  map[string]string
}

func newPart() *part {
	return &part{fields: map[string]*node{}, data: map[string]any{}, texts: map[string]string{}}
}

// add adds a key with its value.
func (p *part) add(key string, n *node) {
	p.fields[key] = n
	p.data[key] = n.data()
	if text, ok := n.writtenText(); ok {
		p.texts[key] = text
	}
}

// compose merges the keys that have templates, using the results, and adds the other keys.
func (set *layerSet) compose(results map[string]string, computed map[*node]*node) *part {
	if len(set.dynamic) == 0 {
		return set.static
	}
	p := &part{
		fields: maps.Clone(set.static.fields),
		data:   maps.Clone(set.static.data),
		texts:  maps.Clone(set.static.texts),
	}
	for key, values := range set.dynamic {
		if value := fold(values, results, computed); value != nil { // nil if no expression has a result
			p.add(key, value)
		}
	}
	return p
}

// composition is a configuration that can be checked.
type composition struct {
	*Composed
	fields map[string]*node

	mu      sync.Mutex
	checked map[string]checked // by schemaKey
}

// checked is a configuration with what is wrong with it.
type checked struct {
	*Composed
	findings []fleet.Problem
}

func newComposition(set *layerSet, results map[string]string, computed map[*node]*node) *composition {
	p := set.compose(results, computed)
	return &composition{
		Composed: &Composed{Data: p.data, Texts: p.texts, Digest: digest(p.data, p.texts), Layers: set.Layers, results: results, computed: computed},
		fields:   p.fields,
		checked:  map[string]checked{},
	}
}

// result returns the configuration with its problems for a selection.
func (c *composition) result(sel *selection) Result {
	of := c.check(sel)
	r := Result{Composed: of.Composed, Schemas: sel.schemaNames, Problems: sel.standing, Hold: sel.hold}
	if len(of.findings) > 0 {
		r.Problems = fleet.SortProblems(slices.Concat(sel.standing, of.findings))
		r.Hold = r.Hold || holds(of.findings)
	}
	return r
}

// check validates the configuration, once for each set of schemas.
func (c *composition) check(sel *selection) checked {
	if len(sel.schemas) == 0 {
		return checked{Composed: c.Composed}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, done := c.checked[sel.schemaKey]; done {
		return known
	}
	of := checked{Composed: c.Composed}
	root := &node{kind: mapping, fields: c.fields}
	for _, sch := range sel.schemas {
		of.findings = append(of.findings, sch.check(root)...)
	}
	if lacks := slices.DeleteFunc(slices.Clone(of.findings), func(p fleet.Problem) bool { return p.Lacks == "" }); len(lacks) > 0 {
		own := *c.Composed // other schemas may require other values
		own.Lacks = lacks
		of.Composed = &own
	}
	c.checked[sel.schemaKey] = of
	return of
}

// digest identifies data with its texts. Digests are equal if templates would print the same.
func digest(data map[string]any, texts map[string]string) fleet.Digest {
	b := appendValue(make([]byte, 0, 1024), data)
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		b = appendText(appendText(b, key), texts[key])
	}
	return sha256.Sum256(b)
}

// appendValue encodes a value unambiguously: its type, its length and its content.
func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		b = appendHead(b, 'm', len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			b = appendText(b, key)
			b = appendValue(b, v[key])
		}
		return b
	case []any:
		b = appendHead(b, 'l', len(v))
		for _, item := range v {
			b = appendValue(b, item)
		}
		return b
	case string:
		return appendText(b, v)
	default:
		return appendText(append(b, 'v'), fmt.Sprintf("%T %v", v, v))
	}
}

func appendText(b []byte, text string) []byte {
	return append(appendHead(b, 's', len(text)), text...)
}

func appendHead(b []byte, kind byte, length int) []byte {
	return binary.AppendUvarint(append(b, kind), uint64(length))
}
