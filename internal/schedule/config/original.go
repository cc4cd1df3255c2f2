package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Original returns a notice for each value and schema whose result for a target differs from what the original scheduler
// does, with both results. Templates are compared unevaluated.
func (c *Composer) Original(s *Stack, t *fleet.Target) []fleet.Problem {
	sel := s.selection(c.class(t))
	found := originalValues(sel.list)
	ours := map[string]*node{}
	for key, values := range valuesByKey(sel.list) {
		ours[key] = fold(values, nil, nil)
	}
	for _, sch := range sel.schemas {
		found = append(found, sch.original(ours)...)
	}
	return found
}

// originalValues compares each key of a configuration.
func originalValues(layers []*layer) []fleet.Problem {
	theirs := slices.SortedStableFunc(slices.Values(layers), func(a, b *layer) int {
		if a.config.Store && b.config.Store {
			return cmp.Compare(a.order, b.order)
		}
		return cmp.Or(cmp.Compare(a.step(), b.step()), cmp.Compare(a.config.Name, b.config.Name))
	})
	original := map[string]*node{}
	byKey := valuesByKey(theirs)
	for key, values := range byKey {
		for _, v := range values {
			original[key] = originalMerge(original[key], v.yaml11())
		}
	}
	var found []fleet.Problem
	ours := valuesByKey(layers)
	for _, key := range slices.Sorted(maps.Keys(ours)) {
		now := fold(ours[key], nil, nil)
		if now.same(original[key]) {
			continue
		}
		leaf := now.first()
		found = append(found, differs(leaf.from.ref(), leaf.place().Position,
			fmt.Sprintf("%s is %s here; the original scheduler makes it %s", key, summary(key, now), summary(key, original[key]))))
	}
	return found
}

func differs(object fleet.Ref, at fleet.Position, message string) fleet.Problem {
	return fleet.Problem{
		Severity: fleet.SeverityNotice, Kind: fleet.KindOriginalDiffers, Object: object, Position: at, Message: message,
		Hint: "no change needed if the result here is intended",
	}
}

// originalMerge merges as the original does: it appends elements that the list has already, merges maps of a list that both
// have no name, and knows no annotation.
func originalMerge(a, b *node) *node {
	switch {
	case a == nil:
		return b
	case a.kind == mapping && b.kind == mapping:
		c := *a
		c.fields = maps.Clone(a.fields)
		for key, field := range b.fields {
			c.fields[key] = originalMerge(c.fields[key], field)
		}
		return &c
	case a.kind == list && b.kind == list:
		c := *a
		c.items = slices.Clone(a.items)
		for _, item := range b.items {
			matched := false
			for i, other := range c.items {
				if item.kind == mapping && other.kind == mapping && sameName(item, other) {
					c.items[i], matched = originalMerge(other, item), true
				}
			}
			if !matched {
				c.items = append(c.items, item)
			}
		}
		return &c
	}
	return b
}

func sameName(a, b *node) bool {
	one, other := a.fields["name"], b.fields["name"]
	return one == nil && other == nil || one != nil && other != nil && one.same(other)
}

// yaml11 returns a value as the original reads it: within maps and lists, a plain yes, no, on or off is a boolean.
func (n *node) yaml11() *node {
	if n.leaf() && n.boolean == nil {
		return n
	}
	c := *n
	switch {
	case n.boolean != nil:
		c.value = *n.boolean
	case n.kind == mapping:
		c.fields = make(map[string]*node, len(n.fields))
		for key, field := range n.fields {
			c.fields[key] = field.yaml11()
		}
	default:
		c.items = make([]*node, len(n.items))
		for i, item := range n.items {
			c.items[i] = item.yaml11()
		}
	}
	return &c
}

// oldBoolean returns the boolean that a plain scalar is in YAML 1.1 only; nil if it is none.
func oldBoolean(text string) *bool {
	yes, no := true, false
	switch text {
	case "yes", "Yes", "YES", "on", "On", "ON", "y", "Y":
		return &yes
	case "no", "No", "NO", "off", "Off", "OFF", "n", "N":
		return &no
	}
	return nil
}

// original compares what a schema says about a configuration. The original turns each text that looks like a number into
// one, whatever the schema asks for, and does not schedule without a required value.
func (s *schema) original(fields map[string]*node) []fleet.Problem {
	var found []fleet.Problem
	document, _ := s.source.Document.(map[string]any)
	properties, _ := document["properties"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		n := fields[key]
		text, isText := n.value.(string)
		property, _ := properties[key].(map[string]any)
		if _, err := strconv.ParseFloat(text, 64); err != nil || !isText || n.kind != scalar || property["type"] != "string" {
			continue
		}
		found = append(found, differs(s.ref(), n.place().Position,
			fmt.Sprintf("%s is the text %s here and allowed; the original scheduler checks it as a number, which the schema refuses", key, quoteText(key, text))))
	}
	for _, p := range s.check(&node{kind: mapping, fields: fields}) {
		if p.Kind == fleet.KindConfigMissing && p.Severity == fleet.SeverityWarning {
			found = append(found, differs(p.Object, p.Position, p.Message+"; that is a warning here, and the original scheduler does not schedule without it"))
		}
	}
	return found
}
