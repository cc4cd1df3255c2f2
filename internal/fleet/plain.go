package fleet

import (
	"math"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/text/nearest"
)

// plain converts a node to plain values: map[string]any, []any, string, bool, nil and Go's numbers.
// Keys, dates and numbers that JSON cannot represent are converted to strings.
func (d *decoder) plain(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		d.mapping(n) // reports repeated keys
		m := make(map[string]any, len(n.Content)/2)
		for key, value := range pairs(n) {
			m[key.Value] = d.plain(value)
		}
		return m
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, element := range n.Content {
			list[i] = d.plain(element)
		}
		return list
	}
	return plainScalar(n)
}

func plainScalar(n *yaml.Node) any {
	switch n.Tag {
	case "!!bool", "!!int", "!!float", nullTag:
	default:
		return n.Value
	}
	var v any
	if err := n.Decode(&v); err != nil {
		return n.Value
	}
	if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return n.Value
	}
	return v
}

// childOrTypo is child. If the key is missing, it returns the value of a key that is a typo of it.
func childOrTypo(n *yaml.Node, name string) *yaml.Node {
	if value := child(n, name); value != nil || n == nil || n.Kind != yaml.MappingNode {
		return value
	}
	for key := range pairs(n) {
		if nearest.IsTypo(key.Value, name) {
			return child(n, key.Value)
		}
	}
	return nil
}

// hasKey reports whether a map has a key, also one without content.
func hasKey(n *yaml.Node, name string) bool {
	for key := range pairs(n) {
		if key.Value == name {
			return true
		}
	}
	return false
}

// lookup returns the value at a path of keys, or nil.
func lookup(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		n = child(n, key)
	}
	return n
}

// child returns the value of a key of a map. It returns nil if the key is missing or has no content.
func child(n *yaml.Node, name string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for key, value := range pairs(n) {
		if key.Value != name {
			continue
		}
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		if value.Tag != nullTag {
			return value
		}
	}
	return nil
}
