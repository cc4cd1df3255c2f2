package config

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// isCanonical reports whether formatting a value gives the text that it was read from.
func isCanonical(value any, text string) bool {
	switch v := value.(type) {
	case bool:
		return strconv.FormatBool(v) == text
	case int:
		return strconv.Itoa(v) == text
	case int64:
		return strconv.FormatInt(v, 10) == text
	case uint64:
		return strconv.FormatUint(v, 10) == text
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64) == text
	}
	return true
}

// writtenText returns the text of a map or list, if it differs from what formatting its data gives: as it was written, where one layer sets it,
// and otherwise with numbers as they were written.
func (n *node) writtenText() (string, bool) {
	switch {
	case n.kind == scalar:
		return "", false
	case n.written != "":
		return n.written, true
	case !n.literal:
		return "", false
	}
	text, err := yaml.Marshal(n.literally())
	return strings.TrimSuffix(string(text), "\n"), err == nil
}

// literally returns the data of a node, with literals where formatting would not give what is written.
func (n *node) literally() any {
	switch {
	case !n.literal:
		return n.data()
	case n.kind == mapping:
		data := make(map[string]any, len(n.fields))
		for key, field := range n.fields {
			data[key] = field.literally()
		}
		return data
	case n.kind == list:
		items := make([]any, len(n.items))
		for i, item := range n.items {
			items[i] = item.literally()
		}
		return items
	}
	return literal{n.raw, n.value}
}

// literal is a number or boolean that is written as in the layer.
type literal struct {
	text  string
	value any
}

// MarshalYAML implements [yaml.Marshaler].
func (l literal) MarshalYAML() (any, error) {
	tag := "!!int"
	switch l.value.(type) {
	case bool:
		tag = "!!bool"
	case float64:
		tag = "!!float"
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: l.text}, nil
}
