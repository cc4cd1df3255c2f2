package values

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// ParseExpressions parses a file whose values are expressions. It is read like a values file; each value is the text of an expression.
func ParseExpressions(source, file string, content []byte) (*Layer, []fleet.Problem) {
	p := parser{at: fleet.Position{Source: source, File: file}, left: MaxNodes}
	root := p.read(content)
	if len(p.problems) > 0 {
		return nil, fleet.SortProblems(p.problems)
	}
	documents, _, _ := fleet.ParseYAML(content, 1) // it was read before
	l := &Layer{root: root}
	if root.fields != nil {
		p.expressions(l, root, documents[0], nil)
	}
	if len(p.problems) > 0 {
		return nil, fleet.SortProblems(p.problems)
	}
	return l, nil
}

// expressions compiles the values of a map.
func (p *parser) expressions(l *Layer, n *node, y *yaml.Node, path []string) {
	for _, key := range n.keys() {
		field, written := n.fields[key], child(y, key)
		at := append(slices.Clone(path), key)
		if field.fields != nil {
			p.expressions(l, field, written, at)
			continue
		}
		if err := field.compile(written); err != nil {
			p.fail(fleet.KindConfigExpression, field.at.Line, fmt.Sprintf("the expression of %s cannot be used: %v", dotted(at), err), "correct the expression")
			continue
		}
		l.formulas = append(l.formulas, at)
	}
}

// compile makes a value an expression. y is how it is written: 2 and true are expressions, too.
func (n *node) compile(y *yaml.Node) error {
	for y != nil && y.Kind == yaml.AliasNode {
		y = y.Alias
	}
	if y == nil || y.Kind != yaml.ScalarNode || n.value == nil {
		return fmt.Errorf("it is not a text; write an expression, such as '[\"a\", \"b\"]' for a list")
	}
	var err error
	n.value = y.Value
	n.formula, err = language.Compile(y.Value)
	return err
}

func dotted(path []string) string {
	text := ""
	for _, key := range path {
		text = Join(text, key)
	}
	return text
}
