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

// Set returns a YAML text in which the value at a path, in one of its documents, is another one. Maps that do not exist are added, and so are
// elements of lists that are given by name. Only lines of the value change; if that is not possible, the file is formatted again, with its
// comments. A text without documents gets one.
//
// It is an error if something on the path is neither a map nor a list, or is an alias.
func Set(text []byte, document int, path []string, value *yaml.Node) ([]byte, error) {
	if len(path) > 1 && len(bytes.TrimSpace(text)) == 0 {
		if _, inList := elementOf(path[0]); inList {
			written, err := encode(nested(append([]string{"list"}, path...), value).Content[1])
			return append(written, '\n'), err
		}
	}
	e, err := newEdit(text, document, path, value)
	if err != nil {
		return nil, err
	}
	for _, edit := range []func() ([]byte, bool){e.inLine, e.inBlock, e.inFlow, e.lines, e.formatted} {
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
	for len(e.within.Content) == 2 && e.within.Kind == yaml.MappingNode && len(e.above) > 0 {
		last := len(e.above) - 1
		e.key, e.old, e.within, e.above = e.above[last].key, e.within, e.above[last].within, e.above[:last]
	}
	for _, edit := range []func() ([]byte, bool){e.withoutFlow, e.withoutLines, e.withoutKey} {
		if changed, ok := edit(); ok && e.holds(changed) {
			return changed, nil
		}
	}
	return nil, fmt.Errorf("%s cannot be removed from this file; edit it by hand", strings.Join(path, "."))
}

// Path returns the keys of a path as users write it: a.b is b below a, and a[x].b is b of the element of the list a with the name x, or with
// this index if x is a number. A key with dots or brackets is in double quotes: a."b.c/d". An element is in brackets in the result, too.
func Path(text string) ([]string, error) {
	var path []string
	for rest := text; ; {
		key, after, err := step(rest, ".[")
		if err != nil || key == "" {
			return nil, fmt.Errorf("the key %.100q has %s", text, cmp.Or(errorText(err), "an empty part"))
		}
		path = append(path, key)
		for strings.HasPrefix(after, "[") {
			element, more, err := step(after[1:], "]")
			if err != nil || element == "" || more == "" {
				return nil, fmt.Errorf("the key %.100q has %s", text, cmp.Or(errorText(err), "brackets without a name or an index"))
			}
			path, after = append(path, "["+element+"]"), more[1:]
		}
		var more bool
		if rest, more = strings.CutPrefix(after, "."); more {
			continue
		}
		if after != "" {
			return nil, fmt.Errorf("the key %.100q has text after a bracket", text)
		}
		return path, nil
	}
}

// step returns the first key of a path, up to one of the characters that end it, and the text after it.
func step(text, ends string) (key, after string, err error) {
	if quoted, err := strconv.QuotedPrefix(text); err == nil && quoted[0] == '"' {
		key, _ = strconv.Unquote(quoted)
		if after = text[len(quoted):]; after != "" && !strings.ContainsRune(ends, rune(after[0])) {
			return "", "", errors.New("text after its quotes")
		}
		return key, after, nil
	}
	end := strings.IndexAny(text, ends)
	if end < 0 {
		end = len(text)
	}
	return text[:end], text[end:], nil
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// elementOf returns the name or index of an element of a path.
func elementOf(step string) (string, bool) {
	if len(step) > 2 && step[0] == '[' && step[len(step)-1] == ']' {
		return step[1 : len(step)-1], true
	}
	return "", false
}

// elementIn returns the index of an element of a list, of which name returns the names; -1 if it is not there. Elements are numbered unless
// they have a name that is not a number.
func elementIn(element string, n int, name func(int) string) int {
	if i, err := strconv.Atoi(element); err == nil {
		if i < 0 || i >= n {
			return -1
		}
		return i
	}
	for i := range n {
		if name(i) == element {
			return i
		}
	}
	return -1
}

// nameOf returns the name of an element of a list, if it is a map.
func nameOf(n *yaml.Node) string {
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		if n.Content[i].Value == "name" && n.Content[i+1].Kind == yaml.ScalarNode {
			return n.Content[i+1].Value
		}
	}
	return ""
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
	// within is the innermost map or list on the path that exists, rest the path below it. key and old are the first element of rest in
	// it; nil if it does not exist. key is nil in a list.
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
	_, inList := elementOf(path[0])
	if len(roots) == 0 && document == 0 && !inList {
		roots = []*yaml.Node{{Kind: yaml.MappingNode}}
	}
	if document >= len(roots) {
		return nil, fmt.Errorf("the file has no document %d", document+1)
	}
	if roots[document].ShortTag() == "!!null" {
		roots[document].Kind, roots[document].Tag, roots[document].Value = yaml.MappingNode, "!!map", ""
	}
	e := &edit{text: text, document: document, path: path, value: value, roots: roots, within: roots[document], rest: path}
	if e.within.Kind != yaml.MappingNode && (e.within.Kind != yaml.SequenceNode || !inList) {
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
		if err := e.look(); err != nil {
			return err
		}
		if e.old != nil && e.old.Kind == yaml.AliasNode {
			return fmt.Errorf("line %d: %s is an alias; write its value instead", e.old.Line, e.rest[0])
		}
		if len(e.rest) == 1 || e.old == nil || isEmpty(e.old) {
			return nil
		}
		if _, element := elementOf(e.rest[1]); e.old.Kind != yaml.MappingNode && (e.old.Kind != yaml.SequenceNode || !element) {
			return fmt.Errorf("line %d: %s is not a %s, so that nothing below it can be set", e.old.Line, e.rest[0], map[bool]string{false: "map", true: "list"}[element])
		}
		e.above = append(e.above, mapKey{e.within, e.key})
		e.within, e.rest = e.old, e.rest[1:]
	}
}

// look finds the first element of the rest.
func (e *edit) look() error {
	e.key, e.old = nil, nil
	if e.within.Kind == yaml.SequenceNode {
		element, _ := elementOf(e.rest[0])
		i := elementIn(element, len(e.within.Content), func(i int) string { return nameOf(e.within.Content[i]) })
		if i >= 0 {
			e.old = e.within.Content[i]
		} else if _, err := strconv.Atoi(element); err == nil {
			return fmt.Errorf("line %d: the list has no element %s", e.within.Line, element)
		} else if len(e.rest) == 1 {
			return fmt.Errorf("line %d: the list has no element with the name %s", e.within.Line, element)
		}
		return nil
	}
	for i := 0; i+1 < len(e.within.Content); i += 2 {
		if e.within.Content[i].Value == e.rest[0] {
			e.key, e.old = e.within.Content[i], e.within.Content[i+1]
		}
	}
	return nil
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
		if list, ok := data.([]any); ok && i == e.document {
			var value any
			if e.value == nil {
				data = take(list, e.path)
			} else if err := e.value.Decode(&value); err != nil {
				return err
			} else {
				data = with(list, e.path, value)
			}
		} else if i == e.document {
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
	var data any
	err := value.Decode(&data)
	in[path[0]] = with(in[path[0]], path[1:], data)
	return err
}

// with returns what is in a place once the value at a path below it is set.
func with(in any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	if element, ok := elementOf(path[0]); ok {
		list, isList := in.([]any)
		if isList || in == nil {
			i := elementIn(element, len(list), func(i int) string { return nameIn(list[i]) })
			if i < 0 {
				return append(slices.Clone(list), with(map[string]any{"name": element}, path[1:], value))
			}
			list[i] = with(list[i], path[1:], value)
			return list
		}
	}
	fields, ok := in.(map[string]any)
	if !ok {
		fields = map[string]any{}
	}
	fields[path[0]] = with(fields[path[0]], path[1:], value)
	return fields
}

func nameIn(item any) string {
	fields, _ := item.(map[string]any)
	if name, ok := fields["name"].(string); ok {
		return name
	}
	return ""
}

// take returns what is in a place without the value at a path below it, and without maps that are empty then: nil if nothing is left.
func take(in any, path []string) any {
	if list, ok := in.([]any); ok {
		element, _ := elementOf(path[0])
		i := elementIn(element, len(list), func(i int) string { return nameIn(list[i]) })
		switch {
		case i < 0:
		case len(path) == 1:
			list = slices.Delete(list, i, i+1)
		default:
			if list[i] = take(list[i], path[1:]); list[i] == nil {
				list = slices.Delete(list, i, i+1)
			}
		}
		return list
	}
	fields, ok := in.(map[string]any)
	if !ok {
		return in
	}
	if len(path) == 1 {
		delete(fields, path[0])
	} else if below := take(fields[path[0]], path[1:]); below == nil {
		delete(fields, path[0])
	} else {
		fields[path[0]] = below
	}
	if len(fields) == 0 {
		return nil
	}
	return fields
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
	value := *e.quoted(e.value)
	if quotes := e.old.Style & (yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle); quotes != 0 && value.ShortTag() == "!!str" {
		value.Style = quotes
	}
	written, err := encode(&value)
	if e.within.Style&yaml.FlowStyle != 0 {
		written, err = flowText(&value)
	}
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
	if e.within.Kind == yaml.SequenceNode {
		return e.itemLines(lines)
	}
	indent, first, end, before := 0, e.lastOf(lines), 0, ""
	if end = first; len(e.within.Content) > 0 {
		indent = e.within.Content[0].Column - 1
	}
	if e.key != nil {
		first, end = e.key.Line-1, e.endOf(lines, e.key)
		before = dashes(lines[first], indent)
	}
	pair := nested(e.rest, e.value)
	if e.old != nil {
		pair.Content[1].LineComment = cmp.Or(e.old.LineComment, e.key.LineComment)
		if e.old.Kind == yaml.ScalarNode && isEmpty(e.old) {
			end = e.key.Line // comments below it stay
		}
	}
	added, err := encode(pair)
	if err != nil {
		return nil, false
	}
	return replaceLines(lines, first, end, before+string(added), indent, before != "")
}

// dashes returns the dashes of list elements that a line begins with, before the first key of a map; empty if there are none.
func dashes(line string, indent int) string {
	if before := line[:min(indent, len(line))]; strings.TrimSpace(before) != "" {
		return before
	}
	return ""
}

// itemLines replaces the lines of an element of a list, or adds one.
func (e *edit) itemLines(lines []string) ([]byte, bool) {
	indent, last := e.within.Column-1, e.within.Content[len(e.within.Content)-1]
	if e.old != nil {
		last = e.old
	}
	if last.Line > len(lines) || dashes(lines[last.Line-1], indent) != "" {
		return nil, false
	}
	end := e.endOf(lines, &yaml.Node{Line: last.Line, Column: indent + 2})
	first := end
	if e.old != nil {
		first = last.Line - 1
	}
	item := nested(append([]string{"list"}, e.rest...), e.value).Content[1]
	if e.old != nil {
		if item = e.value; len(e.rest) > 1 {
			item = nested(e.rest[1:], e.value)
		}
		item = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{item}}
	}
	added, err := encode(item)
	if err != nil {
		return nil, false
	}
	return replaceLines(lines, first, end, string(added), indent, false)
}

// replaceLines returns lines in which some are replaced by a text that is indented; started means that its first line is already.
func replaceLines(lines []string, first, end int, added string, indent int, started bool) ([]byte, bool) {
	if first > len(lines) || end > len(lines) || first > end {
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
	for line := range strings.SplitSeq(added, "\n") {
		if strings.TrimSpace(line) != "" && !started {
			b.WriteString(strings.Repeat(" ", indent))
		}
		started = false
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
	if e.within.Kind == yaml.SequenceNode {
		return nil, false
	}
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
	key := e.key
	if key == nil {
		key = &yaml.Node{Line: e.old.Line, Column: e.within.Column + 1}
	}
	first, end := key.Line-1, e.endOf(lines, key)
	if e.key != nil && dashes(lines[first], key.Column-1) != "" || e.key == nil && dashes(lines[first], e.within.Column-1) != "" {
		return nil, false
	}
	if first > end || end > len(lines) {
		return nil, false
	}
	text := strings.Join(slices.Delete(lines, first, end), "")
	if e.key != nil && len(e.within.Content) == 2 && len(e.roots) == 1 { // it was the only value: a text without documents is not a map
		text = strings.TrimRight(text, "\r\n") + "\n{}\n"
	}
	return []byte(strings.TrimPrefix(text, "\n")), true
}

// withoutKey removes the key, and formats the whole text.
func (e *edit) withoutKey() ([]byte, bool) {
	if e.key == nil {
		i := slices.Index(e.within.Content, e.old)
		e.within.Content = slices.Delete(e.within.Content, i, i+1)
		return e.encoded()
	}
	i := slices.Index(e.within.Content, e.key)
	e.within.Content = slices.Delete(e.within.Content, i, i+2)
	return e.encoded()
}

// nested returns a map with a value at a path. Elements of lists get their names.
func nested(path []string, value *yaml.Node) *yaml.Node {
	for _, key := range slices.Backward(path) {
		name := &yaml.Node{}
		if element, ok := elementOf(key); ok {
			if name.SetString(element); value.Kind == yaml.MappingNode {
				label := &yaml.Node{}
				label.SetString("name")
				value = &yaml.Node{Kind: yaml.MappingNode, Content: append([]*yaml.Node{label, name}, value.Content...)}
			}
			value = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{value}}
			continue
		}
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
	if err := encoder.Encode(unambiguous(n)); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), encoder.Close()
}

// unambiguous returns a value in which new texts that YAML 1.1 reads as booleans are in quotes: Kubernetes and its tools do that.
func unambiguous(n *yaml.Node) *yaml.Node {
	c := *n
	if c.Kind == yaml.ScalarNode && c.Line == 0 && c.Style == 0 && c.ShortTag() == "!!str" && isOldBoolean(c.Value) {
		c.Style = yaml.DoubleQuotedStyle
	}
	c.Content = slices.Clone(n.Content)
	for i, child := range c.Content {
		c.Content[i] = unambiguous(child)
	}
	return &c
}

func isOldBoolean(text string) bool {
	switch strings.ToLower(text) {
	case "y", "n", "yes", "no", "on", "off":
		return true
	}
	return false
}
