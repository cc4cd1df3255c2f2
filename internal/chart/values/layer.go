package values

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	sigs "sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// FileName is how a file with values is called.
const FileName = "values.yaml"

// The bounds of one file of values.
const (
	// MaxSize is the largest file that is read, in bytes.
	MaxSize = 1 << 20
	// MaxNodes is the largest number of values in a file once every alias is replaced by what it stands for.
	MaxNodes = 50_000
	// MaxDepth is how deep maps and lists may nest, aliases replaced.
	MaxDepth = 64
)

// Layer is one set of values with their places. It is immutable.
type Layer struct {
	root *node
}

// Parse reads a file of values. The source is how people call the repository and branch it lies in.
// A file without values is an empty layer. Problems are errors, and there is no layer then.
func Parse(source, file string, content []byte) (*Layer, []fleet.Problem) {
	at := fleet.Position{Source: source, File: file}
	p := parser{at: at, left: MaxNodes}
	root := p.document(content)
	if len(p.problems) > 0 {
		return nil, fleet.SortProblems(p.problems)
	}
	data := map[string]any{}
	if err := unmarshal(content, &data); err != nil {
		return nil, []fleet.Problem{p.problem(fleet.KindYAMLSyntax, 0, err.Error(), "correct the file")}
	}
	return &Layer{root: p.node(data, root)}, nil
}

// unmarshal reads YAML as Helm does. The parser has been seen to panic on input that it should refuse.
func unmarshal(content []byte, into any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML parser gave up: %v", r)
		}
	}()
	return sigs.Unmarshal(content, into)
}

// parser finds where the values of a file are written, and what is wrong with it.
type parser struct {
	at fleet.Position
	// left is how many values may still come; tooLarge is set once, when they were too many or too deep.
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

// document returns the map that the file consists of; nil for a file without values.
func (p *parser) document(content []byte) *yaml.Node {
	switch {
	case len(content) > MaxSize:
		p.fail(fleet.KindFileTooLarge, 0, fmt.Sprintf("the file has %d bytes, more than the %d that are read", len(content), MaxSize), "split it into layers")
		return nil
	case !utf8.Valid(content):
		p.fail(fleet.KindNotUTF8, 0, "the file is not UTF-8", "save it as UTF-8")
		return nil
	}
	documents := p.documents(content)
	if len(documents) == 0 {
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

func (p *parser) documents(content []byte) (roots []*yaml.Node) {
	defer func() {
		if r := recover(); r != nil {
			p.fail(fleet.KindYAMLSyntax, 1, fmt.Sprintf("the YAML parser gave up: %v", r), "correct the file")
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for len(roots) < 2 {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return roots
		}
		if err != nil {
			line, message := syntax(err)
			p.fail(fleet.KindYAMLSyntax, line, "not valid YAML: "+message, "correct the file")
			return nil
		}
		if len(document.Content) == 1 {
			roots = append(roots, document.Content[0])
		}
	}
	return roots
}

// syntax takes the line out of the parser's message, "yaml: line 3: did not find expected key".
func syntax(err error) (int, string) {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	rest, found := strings.CutPrefix(message, "line ")
	if !found {
		return 0, message
	}
	number, text, _ := strings.Cut(rest, ": ")
	line, err := strconv.Atoi(number)
	if err != nil {
		return 0, message
	}
	// The parser counts the lines of these from 0, those of the others from 1.
	if strings.HasPrefix(text, "did not find expected") {
		line++
	}
	return line, text
}

// check looks for what is ambiguous or too large, before anything else walks over the values.
// An alias counts as what it stands for, each time.
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

// keys reports keys of a map that are no texts, or are there twice.
func (p *parser) keys(n *yaml.Node) {
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.ShortTag() == "!!merge" {
			continue
		}
		if !isText(key) {
			p.fail(fleet.KindWrongType, key.Line, "a key is not a text", "put quotes around it; a template has to be quoted as well")
			continue
		}
		if first, twice := lines[key.Value]; twice {
			p.fail(fleet.KindDuplicate, key.Line, fmt.Sprintf("the key %q is there twice, first in line %d", clip(key.Value), first), "remove one of them")
			continue
		}
		lines[key.Value] = key.Line
	}
}

// isText reports whether a key is a text to every reader of YAML. "on" and "1" are not to some.
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
