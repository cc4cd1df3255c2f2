package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Limits of one value of a ConfigMap, so that a few lines with aliases cannot grow into gigabytes.
const (
	maxMapText = 1 << 20 // bytes of a string that may be a map or list
	maxNodes   = 10_000
	maxDepth   = 64
)

// errBounds is the error for a value that is too large or too deep.
var errBounds = errors.New("too large")

// valueReader turns the YAML of one value into nodes.
type valueReader struct {
	layer *layer
	// line converts a line of the YAML text to a line of the file.
	line  func(int) int
	nodes int
}

func readValue(l *layer, y *yaml.Node) (*node, error) {
	for hops := 0; y != nil && y.Kind == yaml.AliasNode && hops < maxDepth; hops++ {
		y = y.Alias
	}
	if y == nil {
		return &node{value: "", from: l}, nil
	}
	if y.Kind == yaml.ScalarNode {
		return readText(l, y)
	}
	r := valueReader{layer: l, line: func(line int) int { return line }}
	return r.node(y, 0)
}

// readText reads a scalar: as a map or list if the text is one, else as text. The style of quotes in the file does not
// matter, only the text itself, as in a cluster.
func readText(l *layer, y *yaml.Node) (*node, error) {
	n := &node{value: y.Value, raw: y.Value, from: l, line: y.Line}
	if y.ShortTag() == "!!null" {
		n.value, n.raw = "", ""
		return n, nil
	}
	if text, quoted := unquoted(y.Value); quoted {
		n.value, n.raw = text, text
		return n, nil
	}
	structured, err := readStructure(l, y)
	if structured != nil || err != nil {
		return structured, err
	}
	n.setTemplate()
	return n, nil
}

// setTemplate marks text that has to be evaluated.
func (n *node) setTemplate() {
	n.template = strings.Contains(n.raw, "{{")
	n.dynamic = n.template
}

// unquoted returns a text without its single quotes, and whether it has them. Such a text is literal: it is neither a
// template nor a map or list.
func unquoted(text string) (string, bool) {
	trimmed := strings.TrimSpace(text)
	if len(trimmed) < 2 || trimmed[0] != '\'' || trimmed[len(trimmed)-1] != '\'' {
		return text, false
	}
	return strings.Trim(trimmed, "'"), true
}

// mayBeStructure reports whether a text can be a map or list. Most texts cannot.
func mayBeStructure(text string) bool {
	return strings.ContainsAny(text, ":{?[") || strings.Contains(text, "- ") || strings.Contains(text, "-\n") ||
		strings.Contains(text, "-\t") || strings.HasSuffix(text, "-")
}

// readStructure reads text that is a YAML map or list. It returns nil for any other text,
// and errBounds if the text is too large to tell.
func readStructure(l *layer, y *yaml.Node) (*node, error) {
	if !mayBeStructure(y.Value) {
		return nil, nil
	}
	if len(y.Value) > maxMapText {
		return nil, fmt.Errorf("%w: more than %d bytes", errBounds, maxMapText)
	}
	root := parseOne(y.Value)
	if root == nil || root.Kind == yaml.ScalarNode {
		return nil, nil
	}
	r := valueReader{layer: l, line: lineWithin(y)}
	n, err := r.node(root, 0)
	if n != nil {
		n.written = y.Value
	}
	if err != nil && !errors.Is(err, errBounds) {
		return nil, nil // for example, a duplicate key
	}
	return n, err
}

// parseOne parses text that is exactly one YAML document. It returns nil for any other text.
func parseOne(text string) *yaml.Node {
	decoder := yaml.NewDecoder(bytes.NewReader(fleet.JoinSurrogates([]byte(text))))
	var document, more yaml.Node
	if decoder.Decode(&document) != nil || !errors.Is(decoder.Decode(&more), io.EOF) || len(document.Content) != 1 {
		return nil
	}
	return document.Content[0]
}

// lineWithin converts lines of a scalar's text to lines of the file. They correspond only in a literal block.
func lineWithin(y *yaml.Node) func(int) int {
	if y.Style&yaml.LiteralStyle == 0 {
		return func(int) int { return y.Line }
	}
	return func(line int) int { return y.Line + line }
}

// node reads any YAML node. Aliases are expanded, and count each time.
func (r *valueReader) node(y *yaml.Node, depth int) (*node, error) {
	r.nodes++
	if r.nodes > maxNodes {
		return nil, fmt.Errorf("%w: more than %d values", errBounds, maxNodes)
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("%w: nested deeper than %d", errBounds, maxDepth)
	}
	switch y.Kind {
	case yaml.AliasNode:
		return r.node(y.Alias, depth+1)
	case yaml.MappingNode:
		return r.mapping(y, depth)
	case yaml.SequenceNode:
		return r.list(y, depth)
	default:
		return r.scalar(y), nil
	}
}

func (r *valueReader) list(y *yaml.Node, depth int) (*node, error) {
	n := &node{kind: list, from: r.layer, line: r.line(y.Line)}
	for _, element := range y.Content {
		item, err := r.node(element, depth+1)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
		n.dynamic, n.literal = n.dynamic || item.dynamic, n.literal || item.literal
	}
	return n, nil
}

// mapping reads a map. Its keys are strings, also "on" and "1".
func (r *valueReader) mapping(y *yaml.Node, depth int) (*node, error) {
	n := &node{kind: mapping, fields: map[string]*node{}, from: r.layer, line: r.line(y.Line)}
	var inherited []*yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, value := y.Content[i], y.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		switch {
		case key.Kind != yaml.ScalarNode:
			return nil, errors.New("a key is not a string; put quotes around a template")
		case key.ShortTag() == "!!merge":
			inherited = append(inherited, value)
			continue
		case n.fields[key.Value] != nil:
			return nil, fmt.Errorf("duplicate key %q", key.Value)
		}
		field, err := r.node(value, depth+1)
		if err != nil {
			return nil, err
		}
		n.fields[key.Value] = field
	}
	if err := r.inherit(n, inherited, depth); err != nil {
		return nil, err
	}
	for _, field := range n.fields {
		n.dynamic, n.literal = n.dynamic || field.dynamic, n.literal || field.literal
	}
	return n, nil
}

// inherit adds the fields of YAML merge keys ("<<"). Existing fields win, and so do earlier maps.
func (r *valueReader) inherit(n *node, sources []*yaml.Node, depth int) error {
	for _, source := range sources {
		from, err := r.node(source, depth+1)
		if err != nil {
			return err
		}
		maps := from.items
		if from.kind == mapping {
			maps = []*node{from}
		}
		for _, m := range maps {
			if m.kind != mapping {
				return errors.New(`the value of the merge key "<<" must be a map`)
			}
			for key, field := range m.fields {
				if n.fields[key] == nil {
					n.fields[key] = field
				}
			}
		}
	}
	return nil
}

// scalar reads a scalar within a map or list, which keeps its YAML type.
// Dates and binary data are kept as text.
func (r *valueReader) scalar(y *yaml.Node) *node {
	n := &node{value: y.Value, raw: y.Value, from: r.layer, line: r.line(y.Line)}
	switch y.ShortTag() {
	case "!!null":
		n.value = nil
	case "!!bool", "!!int", "!!float":
		var typed any
		if y.Decode(&typed) == nil {
			n.value, n.literal = typed, !isCanonical(typed, y.Value)
		}
	default:
		if y.Style == 0 {
			n.boolean = oldBoolean(y.Value)
		}
		if _, quoted := unquoted(y.Value); !quoted {
			n.setTemplate()
		}
	}
	return n
}
