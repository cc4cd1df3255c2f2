package promote

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// setCommit sets spec.commit of the BaseRepo with a name, in a file that may contain other documents.
// All other bytes are kept: comments, order and line endings. It returns an error if that is not possible.
func setCommit(text []byte, name, commit string) ([]byte, error) {
	documents, err := readDocuments(text)
	if err != nil {
		return nil, err
	}
	at := -1
	for i, d := range documents {
		if isBaseRepo(d, name) {
			at = i
			break
		}
	}
	if at < 0 {
		return nil, fmt.Errorf("there is no BaseRepo %q in it", name)
	}
	spec := child(documents[at].Content[0], "spec")
	if spec == nil || spec.Kind != yaml.MappingNode {
		return nil, errors.New("spec is not a map of its own")
	}
	e := edit{text: text, lines: lineStarts(text)}
	e.setKey(spec, commit)
	after, err := readDocuments(e.text)
	if err != nil || !differOnlyIn(documents, after, at, commit) {
		return nil, fmt.Errorf("spec.commit in line %d cannot be replaced by itself; write it as \"commit: %s\" on one line", spec.Line, commit)
	}
	return e.text, nil
}

func readDocuments(text []byte) ([]*yaml.Node, error) {
	var all []*yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var d yaml.Node
		switch err := decoder.Decode(&d); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		all = append(all, &d)
	}
}

func isBaseRepo(d *yaml.Node, name string) bool {
	if len(d.Content) == 0 {
		return false
	}
	root := d.Content[0]
	kind, metadata := child(root, "kind"), child(root, "metadata")
	if kind == nil || kind.Value != "BaseRepo" || metadata == nil {
		return false
	}
	n := child(metadata, "name")
	return n != nil && n.Value == name
}

// child returns the value of a key, or nil.
func child(m *yaml.Node, key string) *yaml.Node {
	_, value := entry(m, key)
	return value
}

func entry(m *yaml.Node, key string) (k, v *yaml.Node) {
	if m.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i], m.Content[i+1]
		}
	}
	return nil, nil
}

// differOnlyIn reports whether two files are equal except for spec.commit of one document, which must be commit in after.
func differOnlyIn(before, after []*yaml.Node, at int, commit string) bool {
	if len(before) != len(after) {
		return false
	}
	for i := range before {
		var was, is any
		if before[i].Decode(&was) != nil || after[i].Decode(&is) != nil {
			return false
		}
		if i == at {
			takeCommit(was)
			if takeCommit(is) != commit {
				return false
			}
		}
		if !reflect.DeepEqual(was, is) {
			return false
		}
	}
	return true
}

// takeCommit removes spec.commit from a document and returns it.
func takeCommit(document any) any {
	root, _ := document.(map[string]any)
	spec, _ := root["spec"].(map[string]any)
	commit := spec["commit"]
	delete(spec, "commit")
	return commit
}

// edit is a text with one edit.
type edit struct {
	text  []byte
	lines []int // offset of each line
}

// setKey sets the key "commit" of a mapping.
func (e *edit) setKey(spec *yaml.Node, commit string) {
	key, value := entry(spec, "commit")
	switch {
	case key != nil && value.Kind == yaml.ScalarNode && value.Tag == "!!null" && value.Value == "":
		colon := e.offset(key) + len(key.Value)
		if key.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
			colon += 2
		}
		if i := bytes.IndexByte(e.text[colon:], ':'); i >= 0 {
			e.replace(colon+i+1, 0, " "+scalar(commit))
		}
	case key != nil:
		e.replaceScalar(value, commit)
	case spec.Style&yaml.FlowStyle != 0:
		text := "commit: " + scalar(commit)
		if len(spec.Content) > 0 {
			text += ", "
		}
		e.replace(e.offset(spec)+1, 0, text)
	default:
		e.addLine(spec, commit)
	}
}

// replaceScalar replaces a value that is on one line, and keeps its quotes.
func (e *edit) replaceScalar(value *yaml.Node, commit string) {
	at := e.offset(value)
	rest := e.text[at:]
	length, text := len(value.Value), scalar(commit)
	switch {
	case value.Kind == yaml.AliasNode:
		length = len("*" + value.Value)
	case value.Style&yaml.DoubleQuotedStyle != 0 || value.Style&yaml.SingleQuotedStyle != 0:
		quote := rest[:1]
		end := bytes.Index(rest[1:], quote)
		if end < 0 {
			return
		}
		length, text = end+2, string(quote)+commit+string(quote)
	}
	if length <= len(rest) {
		e.replace(at, length, text)
	}
}

// addLine adds a line to a block mapping: after the last key if its value is on one line, otherwise before the first key.
func (e *edit) addLine(spec *yaml.Node, commit string) {
	first, last, value := spec.Content[0], spec.Content[len(spec.Content)-2], spec.Content[len(spec.Content)-1]
	line := first.Line - 1
	multiline := value.Kind != yaml.ScalarNode || value.Line != last.Line || value.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
	if !multiline {
		line = last.Line
	}
	begin := e.lines[first.Line-1]
	indent := string(e.text[begin:e.offset(first)])
	if strings.Trim(indent, " ") != "" {
		return // the mapping does not start its line
	}
	end, text := "\n", indent+"commit: "+scalar(commit)
	if bytes.Contains(e.text, []byte("\r\n")) {
		end = "\r\n"
	}
	switch {
	case line < len(e.lines):
		e.replace(e.lines[line], 0, text+end)
	case bytes.HasSuffix(e.text, []byte("\n")):
		e.replace(len(e.text), 0, text+end)
	default: // the file has no newline at its end, and keeps it that way
		e.replace(len(e.text), 0, end+text)
	}
}

func (e *edit) replace(at, length int, by string) {
	e.text = bytes.Join([][]byte{e.text[:at], e.text[at+length:]}, []byte(by))
}

// offset returns the byte offset of a node. The columns of a node count characters.
func (e *edit) offset(n *yaml.Node) int {
	at := e.lines[min(n.Line, len(e.lines))-1]
	for range n.Column - 1 {
		if at < len(e.text) {
			at += len(firstRune(e.text[at:]))
		}
	}
	return at
}

func firstRune(text []byte) []byte {
	for i := 1; i < len(text); i++ {
		if text[i]&0xC0 != 0x80 {
			return text[:i]
		}
	}
	return text
}

// lineStarts returns the offsets of the lines of a text, with YAML's line breaks.
func lineStarts(text []byte) []int {
	starts := []int{0}
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch {
		case bytes.HasPrefix(rest, []byte("\r\n")):
			i++
		case rest[0] == '\n' || rest[0] == '\r':
		case bytes.HasPrefix(rest, []byte("\u0085")):
			i++
		case bytes.HasPrefix(rest, []byte("\u2028")) || bytes.HasPrefix(rest, []byte("\u2029")):
			i += 2
		default:
			continue
		}
		if i+1 < len(text) {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// scalar formats a commit as a YAML string: digits, or digits with one "e", would be a number without quotes.
func scalar(commit string) string {
	if strings.Trim(commit, "0123456789e") == "" {
		return `"` + commit + `"`
	}
	return commit
}
