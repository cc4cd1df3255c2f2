package config

import (
	"maps"
	"slices"
	"strings"
)

// merge lays b over a. It changes neither; the result shares unchanged parts.
func merge(a, b *node) *node {
	switch {
	case a == nil:
		return b
	case b.replaces:
		return replace(a, b)
	case a.kind == mapping && b.kind == mapping && !a.leaf():
		return mergeMaps(a, b)
	case a.kind == list && b.kind == list && !a.leaf():
		return mergeLists(a, b)
	default:
		return replace(a, b)
	}
}

// mergeMaps merges key by key. The result has a's position; only the positions of leaves matter.
func mergeMaps(a, b *node) *node {
	c := *a
	c.fields, c.written, c.literal = maps.Clone(a.fields), "", a.literal || b.literal
	for key, field := range b.fields {
		c.fields[key] = merge(c.fields[key], field)
	}
	return &c
}

// mergeLists merges maps with the same name, and appends in order what the list does not have yet.
func mergeLists(a, b *node) *node {
	c := *a
	c.items, c.written, c.literal = slices.Clone(a.items), "", a.literal || b.literal
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
		if !slices.ContainsFunc(a.items, item.same) {
			c.items = append(c.items, item)
		}
	}
	return &c
}

// replace returns b with its leaves recording what they overrode:
// the leaf of a at the same path, and for the first leaf also the leaves of a without a counterpart.
func replace(a, b *node) *node {
	winner := b.clone()
	if a.leaf() && b.leaf() { // the usual case
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

// within formats a path below a replaced value as a prefix: "level: ".
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
