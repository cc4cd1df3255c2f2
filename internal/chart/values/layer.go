package values

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// FileName is the name of files with values, ExpressionsName of those with expressions.
const (
	FileName        = "values.yaml"
	ExpressionsName = "values.cel.yaml"
)

// IsLayer reports whether a file of a configuration is a layer, by its name.
func IsLayer(file string) bool {
	name := path.Base(file)
	return name == FileName || name == ExpressionsName
}

// The limits of one values file.
const (
	// MaxSize is the maximum size of a file, in bytes.
	MaxSize = 1 << 20
	// MaxNodes is the maximum number of values in a file, with aliases expanded.
	MaxNodes = 50_000
	// MaxDepth is the maximum depth of maps and lists, with aliases expanded.
	MaxDepth = 64
)

// Layer is a set of values with their origins. It is immutable.
type Layer struct {
	root *node
	// formulas are the paths to the values that are expressions, in the order of the keys.
	formulas [][]string
}

// Parse parses a values file, or one with expressions if that is its name. source is the display name of its repository and branch.
// A file without values is an empty layer. If there are problems, all of them are errors, and the layer is nil.
func Parse(source, file string, content []byte) (*Layer, []fleet.Problem) {
	if path.Base(file) == ExpressionsName {
		return ParseExpressions(source, file, content)
	}
	p := parser{at: fleet.Position{Source: source, File: file}, left: MaxNodes}
	root := p.read(content)
	if len(p.problems) > 0 {
		return nil, fleet.SortProblems(p.problems)
	}
	return &Layer{root: root}, nil
}

// read returns the values of a file.
func (p *parser) read(content []byte) *node {
	root := p.document(content)
	if len(p.problems) > 0 {
		return nil
	}
	data := map[string]any{}
	if err := fleet.UnmarshalYAML(content, &data); err != nil {
		p.fail(fleet.KindYAMLSyntax, 0, err.Error(), "correct the file")
		return nil
	}
	return p.node(data, root)
}

// Paths returns the paths of the values in the layer, sorted.
func (l *Layer) Paths() []string {
	var paths []string
	l.root.eachLeaf("", func(path string, _ *node) {
		if path != "" { // an empty layer
			paths = append(paths, path)
		}
	})
	return paths
}

// Without returns the layer without the value at a path.
func (l *Layer) Without(path string) *Layer {
	root := l.root.without("", path)
	if root == nil {
		root = &node{at: l.root.at}
	}
	return &Layer{root: root}
}

// parser finds the positions of a file's values, and its errors.
type parser struct {
	at fleet.Position
	// left is how many more values are allowed. tooLarge is set once there are too many or too deep ones.
	left     int
	tooLarge bool
	problems []fleet.Problem
}

func (p *parser) problem(kind fleet.ProblemKind, line int, message, hint string) fleet.Problem {
	at := p.at
	at.Line = line
	return fleet.Problem{Severity: fleet.SeverityError, Kind: kind, Position: at, Message: message, Hint: hint}
}

func (p *parser) fail(kind fleet.ProblemKind, line int, message, hint string) {
	if len(p.problems) < fleet.MaxProblems {
		p.problems = append(p.problems, p.problem(kind, line, message, hint))
	}
}

// document returns the file's map. It returns nil for a file without values.
func (p *parser) document(content []byte) *yaml.Node {
	switch {
	case len(content) > MaxSize:
		p.fail(fleet.KindFileTooLarge, 0, fmt.Sprintf("the file has %d bytes, more than the %d that are read", len(content), MaxSize), "split it into layers")
		return nil
	case !utf8.Valid(content):
		p.fail(fleet.KindNotUTF8, 0, "the file is not UTF-8", "save it as UTF-8")
		return nil
	}
	documents, line, err := fleet.ParseYAML(content, 2)
	if err != nil {
		p.fail(fleet.KindYAMLSyntax, line, err.Error(), "correct the file")
	}
	if err != nil || len(documents) == 0 {
		return nil
	}
	if len(documents) > 1 {
		p.fail(fleet.KindYAMLSyntax, documents[1].Line, "the file has more than one document", "put all values into one")
		return nil
	}
	root := documents[0]
	if root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" {
		return nil
	}
	if root.Kind != yaml.MappingNode {
		p.fail(fleet.KindWrongType, root.Line, "values are a map, and this is "+article(root), `write "key: value"`)
		return nil
	}
	p.check(root, 0)
	return root
}

// check finds ambiguous or too large input, before other code walks the values.
// Each alias counts as the value it refers to.
func (p *parser) check(n *yaml.Node, depth int) {
	p.left--
	if !p.tooLarge && (p.left < 0 || depth > MaxDepth) {
		p.tooLarge = true
		p.fail(fleet.KindYAMLBounds, n.Line, fmt.Sprintf("the file has more than %d values, or they nest deeper than %d", MaxNodes, MaxDepth), "write it without nested aliases, or shorter")
	}
	if p.tooLarge {
		return
	}
	switch n.Kind {
	case yaml.AliasNode:
		p.check(n.Alias, depth+1)
	case yaml.SequenceNode:
		for _, item := range n.Content {
			p.check(item, depth+1)
		}
	case yaml.MappingNode:
		p.keys(n)
		for i := 1; i < len(n.Content); i += 2 {
			p.check(n.Content[i], depth+1)
		}
	}
}

// keys reports keys of a map that are not strings, or that are duplicates.
func (p *parser) keys(n *yaml.Node) {
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.ShortTag() == "!!merge" {
			continue
		}
		if !isText(key) {
			p.fail(fleet.KindWrongType, key.Line, "a key is not a string", "put quotes around it; a template has to be quoted as well")
			continue
		}
		if first, twice := lines[key.Value]; twice {
			p.fail(fleet.KindDuplicate, key.Line, fmt.Sprintf("the key %q is defined twice, first in line %d", clip(key.Value), first), "remove one of them")
			continue
		}
		lines[key.Value] = key.Line
	}
}

// isText reports whether every YAML parser reads a key as a string. For some, "on" and "1" are not.
func isText(key *yaml.Node) bool {
	if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" {
		return false
	}
	if key.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		return true
	}
	switch strings.ToLower(key.Value) {
	case "y", "n", "yes", "no", "on", "off":
		return false
	}
	return true
}

func article(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	default:
		return "a single value"
	}
}
