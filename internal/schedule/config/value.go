package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/fleet/formula"
)

type shape int

const (
	scalar shape = iota
	mapping
	list
)

// node is a value with its origin. Nodes are immutable once their layer is parsed; merging creates new ones.
type node struct {
	kind shape
	// value of a scalar: string, bool, int, int64, uint64, float64 or nil.
	value  any
	fields map[string]*node // of a mapping
	items  []*node          // of a list

	raw      string           // the scalar as written
	template bool             // the text has to be evaluated
	replaces bool             // the value of a key replaces others instead of merging
	literal  bool             // formatting the value, or one below it, would not give what is written
	written  string           // the text that a map or list was read from, as long as nothing was merged with it
	boolean  *bool            // what a plain scalar is in YAML 1.1, if that differs
	dynamic  bool             // the node, or one below it, is a template
	formula  *formula.Formula // computes the value, or computed it

	from *layer
	line int
	// over are the leaves that this leaf overrode. Each has its own list of the leaves it had overridden.
	over []loser
}

// loser is a leaf that was overridden.
type loser struct {
	leaf *node
	// within is the path of the leaf in the value that was replaced as a whole, such as "level: ". Empty if it was that value.
	within string
}

// leaf reports whether a node has no children: scalars, empty maps and empty lists.
func (n *node) leaf() bool { return len(n.fields) == 0 && len(n.items) == 0 }

func (n *node) keys() []string { return slices.Sorted(maps.Keys(n.fields)) }

// text formats a leaf.
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

// name returns the name of a list element, by which lists merge.
func (n *node) name() (string, bool) {
	name, ok := n.fields["name"]
	if !ok || name.kind != scalar || name.value == nil {
		return "", false
	}
	return name.text(), true
}

// data returns the node's value for templates.
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

// same reports whether two nodes have the same data, whatever their origin.
func (n *node) same(other *node) bool {
	return n.kind == other.kind && n.value == other.value && n.template == other.template &&
		maps.EqualFunc(n.fields, other.fields, (*node).same) &&
		slices.EqualFunc(n.items, other.items, (*node).same)
}

// evaluated returns the node with its templates replaced by their results. A template without a result is kept.
func (n *node) evaluated(results map[string]string) *node {
	if !n.dynamic {
		return n
	}
	c := *n
	c.template, c.dynamic, c.written = false, false, ""
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

// quote formats the value of a key for a message: strings quoted, long ones cut, credentials hidden.
func quote(key string, n *node) string {
	if s, ok := n.value.(string); ok && n.kind == scalar {
		return quoteText(key, s)
	}
	return clip(check.RedactValue(key, n.text()))
}

func quoteText(key, s string) string { return fmt.Sprintf("%q", clip(check.RedactValue(key, s))) }

// maxShown is how many bytes of a value a message shows.
const maxShown = 80

func clip(s string) string { return cut(s, maxShown) }

// cut shortens a string to at most so many bytes, without splitting a character.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
