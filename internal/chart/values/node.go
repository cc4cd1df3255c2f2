package values

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/formula"
)

// node is a value with its origin. Nodes of a layer are immutable; merging creates new ones.
type node struct {
	// fields are the fields of a non-empty map. Nil for every other value.
	fields map[string]*node
	// value is any other value: a scalar, a list, an empty map.
	value any
	at    fleet.Position
	// formula computes the value, if it is an expression of a layer; the value is its text. by is the expression that computed it.
	formula, by *formula.Formula
	// over are the values that this one overrode, the last one first.
	over []Overridden
}

// node combines data with its positions. y is nil if they are not known.
func (p *parser) node(data any, y *yaml.Node) *node {
	n := &node{at: p.at}
	if y != nil {
		n.at.Line = y.Line
	}
	fields, ok := data.(map[string]any)
	if !ok || len(fields) == 0 {
		n.value = data
		return n
	}
	n.fields = make(map[string]*node, len(fields))
	for key, value := range fields {
		field := p.node(value, child(y, key))
		if field.at.Line == 0 {
			field.at.Line = n.at.Line
		}
		n.fields[key] = field
	}
	return n
}

// child finds the value of a key in a map, including one from a merge key ("<<").
// The work is bounded, because the file was checked.
func child(y *yaml.Node, key string) *yaml.Node {
	if y == nil {
		return nil
	}
	switch y.Kind {
	case yaml.AliasNode:
		return child(y.Alias, key)
	case yaml.SequenceNode: // maps of a merge key
		for _, item := range y.Content {
			if found := child(item, key); found != nil {
				return found
			}
		}
		return nil
	}
	var inherited *yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		switch {
		case y.Content[i].ShortTag() == "!!merge":
			inherited = y.Content[i+1]
		case y.Content[i].Value == key:
			return y.Content[i+1]
		}
	}
	return child(inherited, key)
}

// data returns the value as the chart sees it, with references expanded.
func (n *node) data(vars Vars) any {
	if n.by != nil && n.fields == nil {
		return n.value // a result is not expanded
	}
	if n.fields == nil {
		return vars.expandAny(n.value)
	}
	data := make(map[string]any, len(n.fields))
	for key, field := range n.fields {
		data[key] = field.data(vars)
	}
	return data
}

func (n *node) keys() []string { return slices.Sorted(maps.Keys(n.fields)) }

// eachLeaf calls f for every value without children, in the order of the keys.
func (n *node) eachLeaf(path string, f func(path string, leaf *node)) {
	if n.fields == nil {
		f(path, n)
		return
	}
	for _, key := range n.keys() {
		n.fields[key].eachLeaf(Join(path, key), f)
	}
}

// without returns the node without the value at a path; nil if nothing is left.
func (n *node) without(at, path string) *node {
	if n.fields == nil {
		if at == path {
			return nil
		}
		return n
	}
	c := *n
	c.fields = map[string]*node{}
	for key, field := range n.fields {
		if kept := field.without(Join(at, key), path); kept != nil {
			c.fields[key] = kept
		}
	}
	if len(c.fields) == 0 {
		return nil
	}
	return &c
}

// Join appends a key to a path. Ambiguous keys are quoted.
func Join(path, key string) string {
	if key == "" || strings.ContainsAny(key, `."[]`) {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// text formats a value for users: strings unchanged, lists and maps as JSON.
func text(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		return v
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(encoded)
}

// maxShown is how many bytes of a value a message shows.
const maxShown = 80

// clip shortens a text for a message, without splitting a character.
func clip(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "..."
}
