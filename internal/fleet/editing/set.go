package editing

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// maxDocuments is the maximum number of documents in a file that is edited.
const maxDocuments = 1000

// Set returns a YAML text in which the value at a path of keys, in one of its documents, is another one. Maps that do not exist are added. Only
// lines of the value change; if that is not possible, as within {a: 1}, the file is formatted again, with its comments. A text without documents
// gets one.
//
// It is an error if something on the path is not a map, or is an alias.
func Set(text []byte, document int, path []string, value *yaml.Node) ([]byte, error) {
	e, err := newEdit(text, document, path, value)
	if err != nil {
		return nil, err
	}
	for _, edit := range []func() ([]byte, bool){e.inLine, e.lines, e.formatted} {
		if changed, ok := edit(); ok && e.holds(changed) {
			return changed, nil
		}
	}
	return nil, fmt.Errorf("%s cannot be set in this file; write it by hand", strings.Join(path, "."))
}

// Remove returns a YAML text without the value at a path of keys, in one of its documents, and without maps that have no other value. It changes
// only their lines, if that is possible, and keeps comments above them.
//
// It is an error if there is no value.
func Remove(text []byte, document int, path []string) ([]byte, error) {
	e, err := newEdit(text, document, path, nil)
	if err != nil {
		return nil, err
	}
	if e.old == nil || len(e.rest) > 1 {
		return nil, fmt.Errorf("%s is not set in this file", strings.Join(path, "."))
	}
	for len(e.within.Content) == 2 && len(e.above) > 0 {
		last := len(e.above) - 1
		e.key, e.within, e.above = e.above[last].key, e.above[last].within, e.above[:last]
	}
	for _, edit := range []func() ([]byte, bool){e.withoutLines, e.withoutKey} {
		if changed, ok := edit(); ok && e.holds(changed) {
			return changed, nil
		}
	}
	return nil, fmt.Errorf("%s cannot be removed from this file; edit it by hand", strings.Join(path, "."))
}

// Path returns the keys of a path as users write it: a.b is b below a. A key with dots is in double quotes: a."b.c/d".
func Path(text string) ([]string, error) {
	var path []string
	for rest := text; ; {
		key, after, more := strings.Cut(rest, ".")
		if quoted, err := strconv.QuotedPrefix(rest); err == nil && quoted[0] == '"' {
			key, _ = strconv.Unquote(quoted)
			if after, more = strings.CutPrefix(rest[len(quoted):], "."); !more && after != "" {
				return nil, fmt.Errorf("the key %.100q has text after its quotes", text)
			}
		}
		if path = append(path, key); key == "" {
			return nil, fmt.Errorf("the key %.100q has an empty part", text)
		}
		if !more {
			return path, nil
		}
		rest = after
	}
}

// Value parses a value as users write it, in YAML. An empty text, or one that starts with #, is that text.
//
// Comments, anchors and further documents are refused: a text with them was probably not meant as YAML.
func Value(text string) (*yaml.Node, error) {
	documents, _, err := fleet.ParseYAML([]byte(text), 2)
	switch {
	case err != nil:
		return nil, err
	case len(documents) == 0:
		value := &yaml.Node{}
		value.SetString(text)
		return value, nil
	case len(documents) > 1 || isMarked(documents[0]):
		return nil, errors.New("it has a comment, an anchor or several documents")
	}
	return documents[0], nil
}

// isMarked reports whether something in a value has a comment or an anchor.
func isMarked(n *yaml.Node) bool {
	return n.Anchor+n.HeadComment+n.LineComment+n.FootComment != "" || slices.ContainsFunc(n.Content, isMarked)
}

// edit is a value to be set in a text, or to be removed.
type edit struct {
	text     []byte
	document int
	path     []string
	value    *yaml.Node // nil to remove it

	roots []*yaml.Node
	// within is the innermost map on the path that exists, rest the path below it. key and old are the first element of rest in
	// it; nil if it does not exist.
	within   *yaml.Node
	rest     []string
	key, old *yaml.Node
	// above are the maps around within, from the outside in, each with the key that leads on.
	above  []mapKey
	wanted []any
}

type mapKey struct{ within, key *yaml.Node }

func newEdit(text []byte, document int, path []string, value *yaml.Node) (*edit, error) {
	if len(path) == 0 || slices.Contains(path, "") {
		return nil, errors.New("a key is empty")
	}
	roots, line, err := fleet.ParseYAML(text, maxDocuments)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	if len(roots) == 0 && document == 0 {
		roots = []*yaml.Node{{Kind: yaml.MappingNode}}
	}
	if document >= len(roots) {
		return nil, fmt.Errorf("the file has no document %d", document+1)
	}
	if roots[document].ShortTag() == "!!null" {
		roots[document].Kind, roots[document].Tag, roots[document].Value = yaml.MappingNode, "!!map", ""
	}
	e := &edit{text: text, document: document, path: path, value: value, roots: roots, within: roots[document], rest: path}
	if e.within.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: it is not a map", e.within.Line)
	}
	if err := e.find(); err != nil {
		return nil, err
	}
	return e, e.want()
}

// find follows the path.
func (e *edit) find() error {
	for {
		e.key, e.old = nil, nil
		for i := 0; i+1 < len(e.within.Content); i += 2 {
			if e.within.Content[i].Value == e.rest[0] {
				e.key, e.old = e.within.Content[i], e.within.Content[i+1]
			}
		}
		if e.old != nil && e.old.Kind == yaml.AliasNode {
			return fmt.Errorf("line %d: %s is an alias; write its value instead", e.old.Line, e.rest[0])
		}
		if len(e.rest) == 1 || e.old == nil || isEmpty(e.old) {
			return nil
		}
		if e.old.Kind != yaml.MappingNode {
			return fmt.Errorf("line %d: %s is not a map, so that nothing below it can be set", e.old.Line, e.rest[0])
		}
		e.above = append(e.above, mapKey{e.within, e.key})
		e.within, e.rest = e.old, e.rest[1:]
	}
}

// isEmpty reports whether a value is an empty map, or none.
func isEmpty(n *yaml.Node) bool {
	return n.Kind == yaml.MappingNode && len(n.Content) == 0 || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// want determines what the text should hold in the end.
func (e *edit) want() error {
	for i, root := range e.roots {
		var data any
		if err := root.Decode(&data); err != nil {
			return err
		}
		if i == e.document {
			top, ok := data.(map[string]any)
			if data != nil && !ok {
				return errors.New("it has keys that are not texts")
			}
			if top == nil {
				top = map[string]any{}
			}
			if e.value == nil {
				take(top, e.path)
			} else if err := put(top, e.path, e.value); err != nil {
				return err
			}
			data = top
		}
		e.wanted = append(e.wanted, data)
	}
	return nil
}

func put(in map[string]any, path []string, value *yaml.Node) error {
	for _, key := range path[:len(path)-1] {
		next, ok := in[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			in[key] = next
		}
		in = next
	}
	var data any
	err := value.Decode(&data)
	in[path[len(path)-1]] = data
	return err
}

// take removes a value, and the maps that are empty then.
func take(in map[string]any, path []string) {
	if next, ok := in[path[0]].(map[string]any); ok && len(path) > 1 {
		if take(next, path[1:]); len(next) > 0 {
			return
		}
	}
	delete(in, path[0])
}

// holds reports whether a text has the wanted values, and no others.
func (e *edit) holds(text []byte) bool {
	roots, _, err := fleet.ParseYAML(text, maxDocuments)
	if err != nil || len(roots) != len(e.wanted) {
		return false
	}
	for i, root := range roots {
		var data any
		if root.Decode(&data) != nil || !reflect.DeepEqual(data, e.wanted[i]) {
			return false
		}
	}
	return true
}

// inLine replaces a value within its line.
func (e *edit) inLine() ([]byte, bool) {
	if e.old == nil || len(e.rest) > 1 || e.old.Kind != yaml.ScalarNode || e.value.Kind != yaml.ScalarNode || e.old.Anchor != "" {
		return nil, false
	}
	value := *e.value
	if quotes := e.old.Style & (yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle); quotes != 0 && value.ShortTag() == "!!str" {
		value.Style = quotes
	}
	written, err := encode(&value)
	start := e.offset(e.old.Line, e.old.Column)
	if err != nil || bytes.Contains(written, []byte("\n")) || start < 0 {
		return nil, false
	}
	old := scalarIn(e.text[start:], e.old)
	if old == "" {
		return nil, false
	}
	return slices.Concat(e.text[:start], written, e.text[start+len(old):]), true
}

// scalarIn returns how a scalar is written at the start of a text, if it is in one line.
func scalarIn(text []byte, n *yaml.Node) string {
	line, _, _ := strings.Cut(string(text), "\n")
	var quote byte
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		quote = '"'
	case n.Style&yaml.SingleQuotedStyle != 0:
		quote = '\''
	case n.Style == 0 && n.Value != "" && strings.HasPrefix(line, n.Value):
		return n.Value
	default:
		return ""
	}
	for i := 1; i < len(line); i++ {
		switch {
		case quote == '"' && line[i] == '\\', quote == '\'' && strings.HasPrefix(line[i:], "''"):
			i++
		case line[i] == quote:
			return line[:i+1]
		}
	}
	return ""
}

// offset returns the position of a line and column in the text; -1 if there is none.
func (e *edit) offset(line, column int) int {
	at := 0
	for range line - 1 {
		next := bytes.IndexByte(e.text[at:], '\n')
		if next < 0 {
			return -1
		}
		at += next + 1
	}
	for range column - 1 {
		if at >= len(e.text) {
			return -1
		}
		_, size := utf8.DecodeRune(e.text[at:])
		at += size
	}
	return at
}

// lines replaces the lines of a key, or adds lines to a map.
func (e *edit) lines() ([]byte, bool) {
	if e.within.Style&yaml.FlowStyle != 0 {
		return nil, false
	}
	lines := strings.SplitAfter(string(e.text), "\n")
	indent, first, end := 0, e.lastOf(lines), 0
	if end = first; len(e.within.Content) > 0 {
		indent = e.within.Content[0].Column - 1
	}
	if e.key != nil {
		first, end = e.key.Line-1, e.endOf(lines, e.key)
	}
	pair := nested(e.rest, e.value)
	if e.old != nil {
		pair.Content[1].LineComment = cmp.Or(e.old.LineComment, e.key.LineComment)
		if e.old.Kind == yaml.ScalarNode && isEmpty(e.old) {
			end = e.key.Line // comments below it stay
		}
	}
	added, err := encode(pair)
	if err != nil || first > len(lines) || end > len(lines) {
		return nil, false
	}
	var b strings.Builder
	for _, line := range lines[:first] {
		b.WriteString(line)
	}
	eol := "\n"
	if len(lines) > 0 && strings.HasSuffix(lines[0], "\r\n") {
		eol = "\r\n"
	}
	if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
		b.WriteString(eol)
	}
	for line := range strings.SplitSeq(string(added), "\n") {
		if strings.TrimSpace(line) != "" {
			b.WriteString(strings.Repeat(" ", indent))
		}
		b.WriteString(line + eol)
	}
	for _, line := range lines[end:] {
		b.WriteString(line)
	}
	return []byte(b.String()), true
}

// lastOf returns the number of lines up to the end of the innermost map.
func (e *edit) lastOf(lines []string) int {
	if n := len(e.within.Content); n > 0 {
		return e.endOf(lines, e.within.Content[n-2])
	}
	return len(slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return line == "" }))
}

// endOf returns the number of lines up to the end of a key's value, without comments and empty lines after it.
func (e *edit) endOf(lines []string, key *yaml.Node) int {
	end := key.Line
	for i := key.Line; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], "\r\n")
		content := strings.TrimLeft(line, " ")
		indent := len(line) - len(content)
		switch {
		case content == "" || strings.HasPrefix(content, "#") && indent < key.Column:
			continue
		case indent < key.Column && (indent < key.Column-1 || !strings.HasPrefix(content, "- ")):
			return end
		}
		end = i + 1
	}
	return end
}

// formatted sets the value, and formats the whole text.
func (e *edit) formatted() ([]byte, bool) {
	pair := nested(e.rest, e.value).Content
	if e.old != nil {
		pair[1].LineComment = e.old.LineComment
		*e.old = *pair[1]
	} else {
		e.within.Content = append(e.within.Content, pair...)
	}
	return e.encoded()
}

// encoded formats the whole text.
func (e *edit) encoded() ([]byte, bool) {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	for _, root := range e.roots {
		if err := encoder.Encode(root); err != nil {
			return nil, false
		}
	}
	return b.Bytes(), encoder.Close() == nil
}

// withoutLines removes the lines of the key.
func (e *edit) withoutLines() ([]byte, bool) {
	if e.within.Style&yaml.FlowStyle != 0 {
		return nil, false
	}
	lines := strings.SplitAfter(string(e.text), "\n")
	first, end := e.key.Line-1, e.endOf(lines, e.key)
	if first > end || end > len(lines) {
		return nil, false
	}
	text := strings.Join(slices.Delete(lines, first, end), "")
	if len(e.within.Content) == 2 && len(e.roots) == 1 { // it was the only value: a text without documents is not a map
		text = strings.TrimRight(text, "\r\n") + "\n{}\n"
	}
	return []byte(strings.TrimPrefix(text, "\n")), true
}

// withoutKey removes the key, and formats the whole text.
func (e *edit) withoutKey() ([]byte, bool) {
	i := slices.Index(e.within.Content, e.key)
	e.within.Content = slices.Delete(e.within.Content, i, i+2)
	return e.encoded()
}

// nested returns a map with a value at a path.
func nested(path []string, value *yaml.Node) *yaml.Node {
	for _, key := range slices.Backward(path) {
		name := &yaml.Node{}
		name.SetString(key)
		value = &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{name, value}}
	}
	return value
}

// encode returns a value as YAML, without the line break at its end.
func encode(n *yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(n); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), encoder.Close()
}
