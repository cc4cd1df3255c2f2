package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// shape is what a node is.
type shape int

const (
	scalar shape = iota
	mapping
	list
)

// node is a value with its origin. Nodes are immutable once their layer is parsed;
// merging makes new ones where it has to.
type node struct {
	kind shape
	// value is a scalar as Go value: string, bool, int, int64, uint64, float64 or nil.
	value  any
	fields map[string]*node // of a mapping
	items  []*node          // of a list

	// raw is the scalar as written.
	raw string
	// template is true for a text that has to be evaluated.
	template bool
	// dynamic is true when the node, or one below it, is a template.
	dynamic bool

	from *layer
	line int
	// over are the leaves that this leaf won against. They still have those that they had won against themselves.
	over []loser
}

// loser is a leaf that was overridden.
type loser struct {
	leaf *node
	// within says where the leaf was in what was replaced as a whole, such as "level: "; empty when it was all of it.
	within string
}

// leaf is true for what has nothing below it: scalars, and maps and lists that are empty.
func (n *node) leaf() bool { return len(n.fields) == 0 && len(n.items) == 0 }

func (n *node) keys() []string { return slices.Sorted(maps.Keys(n.fields)) }

// text is a leaf as people read it.
func (n *node) text() string {
	switch {
	case n.kind == mapping:
		return "{}"
	case n.kind == list:
		return "[]"
	case n.value == nil:
		return "null"
	}
	if s, ok := n.value.(string); ok {
		return s
	}
	return n.raw
}

// name is the name of an element of a list, which merging goes by.
func (n *node) name() (string, bool) {
	name, ok := n.fields["name"]
	if !ok || name.kind != scalar || name.value == nil {
		return "", false
	}
	return name.text(), true
}

// data is the node as templates see it.
func (n *node) data() any {
	switch n.kind {
	case mapping:
		return dataOf(n.fields)
	case list:
		items := make([]any, len(n.items))
		for i, item := range n.items {
			items[i] = item.data()
		}
		return items
	default:
		return n.value
	}
}

func dataOf(fields map[string]*node) map[string]any {
	data := make(map[string]any, len(fields))
	for key, n := range fields {
		data[key] = n.data()
	}
	return data
}

// same is true when two nodes mean the same data, wherever they were written.
func (n *node) same(other *node) bool {
	return n.kind == other.kind && n.value == other.value && n.template == other.template &&
		maps.EqualFunc(n.fields, other.fields, (*node).same) &&
		slices.EqualFunc(n.items, other.items, (*node).same)
}

// evaluated returns the node with its templates replaced by what they evaluate to.
// What does not evaluate stays as it is written.
func (n *node) evaluated(results map[string]string) *node {
	if !n.dynamic {
		return n
	}
	c := *n
	c.template, c.dynamic = false, false
	switch n.kind {
	case mapping:
		c.fields = make(map[string]*node, len(n.fields))
		for key, field := range n.fields {
			c.fields[key] = field.evaluated(results)
		}
	case list:
		c.items = make([]*node, len(n.items))
		for i, item := range n.items {
			c.items[i] = item.evaluated(results)
		}
	default:
		if result, ok := results[n.raw]; ok {
			c.value = result
		}
	}
	return &c
}

// quote shows a value in a message: texts quoted, long ones cut.
func quote(n *node) string {
	if s, ok := n.value.(string); ok && n.kind == scalar {
		return quoteText(s)
	}
	return clip(n.text())
}

func quoteText(s string) string { return fmt.Sprintf("%q", clip(s)) }

// maxShown is how many bytes of a value a message shows.
const maxShown = 80

func clip(s string) string { return cut(s, maxShown) }

// cut shortens a text to so many bytes, without cutting through a character.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
