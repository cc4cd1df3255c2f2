package config

import (
	"maps"
	"slices"
	"strings"
)

// merge lays b over a. Neither is changed; the result shares what is not touched.
func merge(a, b *node) *node {
	switch {
	case a == nil:
		return b
	case a.kind == mapping && b.kind == mapping && !a.leaf():
		return mergeMaps(a, b)
	case a.isListOfMaps() && b.isListOfMaps():
		return mergeLists(a, b)
	default:
		return replace(a, b)
	}
}

// mergeMaps merges key by key. The result counts as written where a was; only leaves have to be exact.
func mergeMaps(a, b *node) *node {
	c := *a
	c.fields = maps.Clone(a.fields)
	for key, field := range b.fields {
		c.fields[key] = merge(c.fields[key], field)
	}
	return &c
}

// isListOfMaps is true for lists that merge. An empty list is none: writing it is the way to replace the others.
func (n *node) isListOfMaps() bool {
	notMap := func(item *node) bool { return item.kind != mapping }
	return n.kind == list && len(n.items) > 0 && !slices.ContainsFunc(n.items, notMap)
}

// mergeLists merges elements of one name, and appends the others in their order.
func mergeLists(a, b *node) *node {
	c := *a
	c.items = slices.Clone(a.items)
	at := make(map[string]int, len(c.items))
	for i, item := range c.items {
		if name, named := item.name(); named {
			if _, taken := at[name]; !taken {
				at[name] = i
			}
		}
	}
	for _, item := range b.items {
		name, named := item.name()
		if i, found := at[name]; named && found {
			c.items[i] = merge(c.items[i], item)
			continue
		}
		c.items = append(c.items, item)
	}
	return &c
}

// replace puts b in the place of a, and notes in the leaves of b what they overrode:
// the leaf of a at the same path, and the first one also what has no counterpart in b.
func replace(a, b *node) *node {
	winner := b.clone()
	if a.leaf() && b.leaf() { // as nearly always
		winner.over = append(winner.over, loser{leaf: a})
		return winner
	}
	leaves := map[string]*node{}
	var first *node
	winner.eachLeaf("", func(path string, leaf *node) {
		if first == nil {
			first = leaf
		}
		leaves[path] = leaf
	})
	a.eachLeaf("", func(path string, leaf *node) {
		if counterpart, ok := leaves[path]; ok {
			counterpart.over = append(counterpart.over, loser{leaf: leaf})
			return
		}
		first.over = append(first.over, loser{leaf, within(path)})
	})
	return winner
}

// within is a path below a replaced value as the start of a text: "level: ".
func within(path string) string {
	if path == "" {
		return ""
	}
	return strings.TrimPrefix(path, ".") + ": "
}

// clone copies a node and everything below it.
func (n *node) clone() *node {
	c := *n
	c.over = slices.Clone(n.over)
	if n.fields != nil {
		c.fields = make(map[string]*node, len(n.fields))
		for key, field := range n.fields {
			c.fields[key] = field.clone()
		}
	}
	c.items = nil
	for _, item := range n.items {
		c.items = append(c.items, item.clone())
	}
	return &c
}
