package editing

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// inFlow replaces a value in {a: 1} or [a, b], or adds one.
func (e *edit) inFlow() ([]byte, bool) {
	if e.within.Style&yaml.FlowStyle == 0 {
		return nil, false
	}
	if e.old == nil {
		return e.addedToFlow()
	}
	value := e.value
	if len(e.rest) > 1 {
		value = nested(e.rest, e.value).Content[1]
	}
	start := e.offset(e.old.Line, e.old.Column)
	written, err := flowText(e.quoted(value))
	if err != nil || start < 0 || e.old.Anchor != "" || e.old.ShortTag() == "!!null" && e.old.Value == "" {
		return nil, false
	}
	end := e.flowEnd(start)
	if end < 0 {
		return nil, false
	}
	return slices.Concat(e.text[:start], written, e.text[end:]), true
}

// addedToFlow adds a value after the last one.
func (e *edit) addedToFlow() ([]byte, bool) {
	pair := nested(e.rest, e.value)
	if e.within.Kind == yaml.SequenceNode {
		pair = nested(append([]string{"list"}, e.rest...), e.value).Content[1]
	}
	pair.Style = yaml.FlowStyle
	written, err := flowText(e.quoted(pair))
	n := len(e.within.Content)
	if err != nil || n == 0 {
		return nil, false
	}
	written = written[1 : len(written)-1] // without its brackets
	last := e.within.Content[n-1]
	start := e.offset(last.Line, last.Column)
	if start < 0 {
		return nil, false
	}
	end := e.flowEnd(start)
	if end < 0 {
		return nil, false
	}
	separator := []byte(", ")
	if next := bytes.TrimLeft(e.text[end:], " \t"); bytes.HasPrefix(next, []byte(",")) { // after the last one, too
		end, separator = len(e.text)-len(next)+1, []byte(" ")
	}
	if e.linewise() {
		first := e.within.Content[0]
		separator = slices.Concat(bytes.TrimRight(separator, " "), []byte("\n"), bytes.Repeat([]byte(" "), first.Column-1))
	}
	return slices.Concat(e.text[:end], separator, written, e.text[end:]), true
}

// linewise reports whether the values of the innermost map are on lines of their own.
func (e *edit) linewise() bool {
	first := e.within.Content[0]
	start := e.offset(first.Line, 1)
	return first.Line > e.within.Line && start >= 0 && len(bytes.TrimSpace(e.text[start:e.offset(first.Line, first.Column)])) == 0
}

// withoutFlow removes a value from {a: 1} or [a, b].
func (e *edit) withoutFlow() ([]byte, bool) {
	if e.within.Style&yaml.FlowStyle == 0 || len(e.within.Content) <= 2 && e.within.Kind == yaml.MappingNode {
		return nil, false
	}
	first := e.key
	if first == nil {
		first = e.old
	}
	start, end := e.offset(first.Line, first.Column), e.offset(e.old.Line, e.old.Column)
	if start < 0 || end < 0 {
		return nil, false
	}
	if end = e.flowEnd(end); end < 0 {
		return nil, false
	}
	if rest := bytes.TrimLeft(e.text[end:], " \t"); bytes.HasPrefix(rest, []byte(",")) {
		return slices.Concat(e.text[:start], bytes.TrimLeft(rest[1:], " \t\r\n")), true
	}
	before := bytes.TrimSuffix(bytes.TrimRight(e.text[:start], " \t\r\n"), []byte(","))
	return slices.Concat(before, e.text[end:]), true
}

// quoted returns a value with texts in double quotes if the file is JSON, or looks like it.
func (e *edit) quoted(n *yaml.Node) *yaml.Node {
	if !e.isJSON() {
		return n
	}
	return inJSON(n)
}

func (e *edit) isJSON() bool {
	if e.within.Style&yaml.FlowStyle == 0 {
		return false
	}
	if len(e.within.Content) == 0 || e.within.Kind == yaml.SequenceNode {
		return json.Valid(e.text)
	}
	for i := 0; i < len(e.within.Content); i += 2 {
		if e.within.Content[i].Style&yaml.DoubleQuotedStyle == 0 {
			return false
		}
	}
	return true
}

func inJSON(n *yaml.Node) *yaml.Node {
	c := *n
	if c.Kind == yaml.ScalarNode && c.ShortTag() == "!!str" {
		c.Style = yaml.DoubleQuotedStyle
	}
	c.Content = slices.Clone(n.Content)
	for i, child := range c.Content {
		c.Content[i] = inJSON(child)
	}
	return &c
}

// flowText returns a value in one line, as it is written within brackets.
func flowText(n *yaml.Node) ([]byte, error) {
	list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle, Content: []*yaml.Node{inOneLine(n)}}
	written, err := encode(list)
	return bytes.TrimSuffix(bytes.TrimPrefix(written, []byte("[")), []byte("]")), err
}

func inOneLine(n *yaml.Node) *yaml.Node {
	c := *n
	c.HeadComment, c.LineComment, c.FootComment = "", "", ""
	switch c.Kind {
	case yaml.MappingNode, yaml.SequenceNode:
		c.Style = yaml.FlowStyle
	default:
		if c.Style &^= yaml.LiteralStyle | yaml.FoldedStyle; strings.Contains(c.Value, "\n") {
			c.Style = yaml.DoubleQuotedStyle
		}
	}
	c.Content = slices.Clone(n.Content)
	for i, child := range c.Content {
		c.Content[i] = inOneLine(child)
	}
	return &c
}

// flowEnd returns where the value ends that begins at a position within brackets, without space after it; -1 if that is not clear.
func (e *edit) flowEnd(at int) int {
	depth, fresh := 0, true // whether a quote begins a text
	for i := at; i < len(e.text); i++ {
		switch c := e.text[i]; {
		case fresh && (c == '"' || c == '\''):
			if i = quoteEnd(e.text, i); i < 0 {
				return -1
			}
			fresh = false
		case c == '#' && i > at && strings.ContainsRune(" \t\n", rune(e.text[i-1])):
			return -1 // a comment stays where it is
		case c == '{' || c == '[':
			depth++
			fresh = true
		case (c == '}' || c == ']' || c == ',') && depth == 0:
			return at + len(bytes.TrimRight(e.text[at:i], " \t\r\n"))
		case c == '}' || c == ']':
			depth--
		case c == ',' || c == ':':
			fresh = true
		default:
			fresh = fresh && strings.ContainsRune(" \t\r\n", rune(c))
		}
	}
	return -1
}

// quoteEnd returns the position of the quote that ends the text that begins at one; -1 if there is none.
func quoteEnd(text []byte, at int) int {
	for i := at + 1; i < len(text); i++ {
		switch {
		case text[at] == '"' && text[i] == '\\', text[at] == '\'' && bytes.HasPrefix(text[i:], []byte("''")):
			i++
		case text[i] == text[at]:
			return i
		}
	}
	return -1
}

// inBlock replaces lines of a text that is written as a block, such as |, and keeps its indentation.
func (e *edit) inBlock() ([]byte, bool) {
	if e.old == nil || len(e.rest) > 1 || e.key == nil || e.old.Style&yaml.LiteralStyle == 0 || e.value.Kind != yaml.ScalarNode || e.value.ShortTag() != "!!str" {
		return nil, false
	}
	lines := strings.SplitAfter(string(e.text), "\n")
	header, end := e.old.Line-1, e.endOf(lines, e.key)
	indent := -1
	for _, line := range lines[min(header+1, end):end] {
		if content := strings.TrimLeft(line, " "); strings.TrimSpace(content) != "" {
			indent = len(line) - len(content)
			break
		}
	}
	ends := func(text string) int { return len(text) - len(strings.TrimRight(text, "\n")) }
	text := e.value.Value
	if indent < 0 || ends(text) != ends(e.old.Value) || ends(text) > 1 || text == "" || text[0] == ' ' || text[0] == '\n' {
		return nil, false
	}
	changed, ok := replaceLines(lines, header+1, end, strings.TrimSuffix(text, "\n"), indent, false)
	if !ok || strings.HasSuffix(string(e.text), "\n") || end < len(lines) {
		return changed, ok
	}
	return bytes.TrimRight(changed, "\r\n"), true
}
