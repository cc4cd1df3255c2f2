package check

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// maxNodes bounds a document with its aliases replaced.
const maxNodes = 1 << 20

type manifest struct {
	file string
	node *yaml.Node
	// content has maps, lists, strings, booleans, and numbers as int, int64, uint64 or float64.
	// It has no empty values, which an API server treats as absent.
	content map[string]any
}

func (m *manifest) apiVersion() string { return text(m.content, "apiVersion") }
func (m *manifest) kind() string       { return text(m.content, "kind") }

// name formats the object: "Deployment shop/web".
func (m *manifest) name() string {
	meta, _ := m.content["metadata"].(map[string]any)
	name := text(meta, "name")
	if name == "" {
		name = text(meta, "generateName")
	}
	if namespace := text(meta, "namespace"); namespace != "" {
		name = namespace + "/" + name
	}
	return strings.TrimSpace(m.kind() + " " + name)
}

func text(in map[string]any, key string) string {
	s, _ := in[key].(string)
	return s
}

func (m *manifest) finding(rule string, at fieldPath, message, hint string) Finding {
	return Finding{
		Rule: rule, File: m.file, Line: at.line(m.node), Object: m.name(), Path: at.String(), Message: message, Hint: hint,
	}
}

// fieldPath is the path of a field: keys are strings, indexes are ints.
type fieldPath []any

// at returns the path of something below.
func (p fieldPath) at(more ...any) fieldPath { return append(append(fieldPath(nil), p...), more...) }

// String formats the path: spec.containers[0].image.
func (p fieldPath) String() string {
	var b strings.Builder
	for _, step := range p {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", step)
		case string:
			if plain(step) {
				if b.Len() > 0 {
					b.WriteByte('.')
				}
				b.WriteString(step)
			} else {
				fmt.Fprintf(&b, "[%s]", strconv.Quote(step))
			}
		}
	}
	return b.String()
}

// plain reports whether a key can be written after a dot.
func plain(key string) bool {
	return key != "" && !strings.ContainsFunc(key, func(r rune) bool {
		return r != '_' && r != '-' && r != '$' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// line returns the line of the deepest existing part of the path.
func (p fieldPath) line(node *yaml.Node) int {
	line := node.Line
	for _, step := range p {
		for node.Kind == yaml.AliasNode {
			node = node.Alias
		}
		next, at := child(node, step)
		if next == nil {
			break
		}
		node, line = next, at
	}
	return line
}

// placed returns the object and the field on a line of a file: empty if no object is there. Of several fields on
// the line, it is the one that they are in.
func placed(manifests []*manifest, line int) (object, field string) {
	var in *manifest
	for _, m := range manifests {
		if m.node.Line <= line && (in == nil || m.node.Line >= in.node.Line) {
			in = m
		}
	}
	if in == nil {
		return "", ""
	}
	var at fieldPath
	for node := in.node; node != nil; {
		step, next := below(node, line)
		if next == nil {
			break
		}
		at, node = at.at(step), next
	}
	return in.name(), at.String()
}

// below returns the key or index that a line is in, with its node; nil if the line has several of them.
func below(node *yaml.Node, line int) (step any, next *yaml.Node) {
	last := 0
	found := func(s any, starts int, n *yaml.Node) {
		switch {
		case starts > line:
		case starts == last && starts == line:
			next = nil
		default:
			step, next, last = s, n, starts
		}
	}
	for i := range node.Content {
		switch {
		case node.Kind == yaml.SequenceNode:
			found(i, node.Content[i].Line, node.Content[i])
		case node.Kind == yaml.MappingNode && i%2 == 1:
			found(node.Content[i-1].Value, node.Content[i-1].Line, node.Content[i])
		}
	}
	return step, next
}

// child returns the node of a key or index, with the line of the key.
func child(node *yaml.Node, step any) (next *yaml.Node, line int) {
	switch step := step.(type) {
	case int:
		if node.Kind == yaml.SequenceNode && step < len(node.Content) {
			return node.Content[step], node.Content[step].Line
		}
	case string:
		for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == step {
				return node.Content[i+1], node.Content[i].Line
			}
		}
	}
	return nil, 0
}

// parse reads the objects of a file. A document that is not a Kubernetes object is a finding.
func parse(file string, data []byte) (manifests []*manifest, findings []Finding) {
	broken := func(line int, message, hint string) {
		findings = append(findings, Finding{Rule: RuleSchema, File: file, Line: line, Message: message, Hint: hint})
	}
	roots, errLine, err := fleet.ParseYAML(data, math.MaxInt)
	for _, node := range roots {
		content, line, err := convert(node)
		if err != nil {
			broken(line, err.Error(), "")
			continue
		}
		if content == nil {
			continue // a document of comments
		}
		object, ok := content.(map[string]any)
		m := &manifest{file: file, node: node, content: object}
		if !ok || m.apiVersion() == "" || m.kind() == "" {
			broken(node.Line, "not a Kubernetes object: apiVersion and kind are required", "")
			continue
		}
		items, itemErr := list(m)
		if itemErr != "" {
			broken(node.Line, itemErr, "")
		}
		manifests = append(manifests, items...)
	}
	if err != nil {
		broken(errLine, err.Error(), "correct the YAML; nothing after this line was checked")
	}
	return manifests, findings
}

// list returns the objects of a List, or the object itself if it is not a List.
func list(m *manifest) (items []*manifest, problem string) {
	if m.apiVersion() != "v1" || m.kind() != "List" {
		return []*manifest{m}, ""
	}
	all, _ := m.content["items"].([]any)
	node, _ := child(m.node, "items")
	for i, item := range all {
		object, ok := item.(map[string]any)
		if !ok || node == nil || i >= len(node.Content) {
			return items, fmt.Sprintf("items[%d] is not an object", i)
		}
		items = append(items, &manifest{file: m.file, node: node.Content[i], content: object})
	}
	return items, ""
}

// convert returns the value of a node, in the types of JSON, or an error with its line.
func convert(node *yaml.Node) (content any, line int, err error) {
	c := converter{budget: maxNodes}
	content, err = c.value(node, 0)
	if err != nil {
		return nil, max(c.line, node.Line), err
	}
	return content, 0, nil
}

// converter bounds the work, and records the line of an error.
type converter struct{ budget, line int }

func (c *converter) fail(node *yaml.Node, format string, args ...any) error {
	c.line = node.Line
	return fmt.Errorf(format, args...)
}

func (c *converter) value(node *yaml.Node, depth int) (any, error) {
	if c.budget--; c.budget < 0 || depth > 200 {
		return nil, c.fail(node, "is too large or too deep, with its aliases replaced")
	}
	switch node.Kind {
	case yaml.AliasNode:
		return c.value(node.Alias, depth+1)
	case yaml.MappingNode:
		return c.fields(node, depth)
	case yaml.SequenceNode:
		list := make([]any, 0, len(node.Content))
		for _, item := range node.Content {
			value, err := c.value(item, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	}
	if node.Tag == "!!str" {
		return node.Value, nil // most values; Decode takes ten times as long
	}
	var value any
	if err := node.Decode(&value); err != nil {
		return nil, c.fail(node, "%.100q is not a valid value", node.Value)
	}
	if node.Tag == "!!timestamp" || node.Tag == "!!binary" {
		return node.Value, nil // JSON has neither
	}
	return value, nil
}

func (c *converter) fields(node *yaml.Node, depth int) (any, error) {
	m := make(map[string]any, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if key.Kind != yaml.ScalarNode {
			return nil, c.fail(key, "a key is not a string")
		}
		value, err := c.value(node.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		if _, twice := m[key.Value]; twice {
			return nil, c.fail(key, "duplicate key %.100q", key.Value)
		}
		if value != nil {
			m[key.Value] = value
		}
	}
	return m, nil
}
