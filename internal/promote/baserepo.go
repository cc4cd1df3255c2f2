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

// setCommit makes the BaseRepo of a name, in a file that may have other documents, name a commit.
// All other bytes stay as they are: comments, order, line ends. What it cannot edit so is an error, never another file.
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

// child returns the value of a key; nil when there is none.
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

// differOnlyIn reports whether two files mean the same but for spec.commit of one document, which is as it should be.
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

// takeCommit removes spec.commit from a document, and returns it.
func takeCommit(document any) any {
	root, _ := document.(map[string]any)
	spec, _ := root["spec"].(map[string]any)
	commit := spec["commit"]
	delete(spec, "commit")
	return commit
}

// edit is a text that is changed in one place.
type edit struct {
	text  []byte
	lines []int // where each line begins
}

// setKey gives a map the key "commit".
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

// replaceScalar replaces a value that is written on one line, in the quotes it has.
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

// addLine adds a line to a map that is written over several: after its last key if that takes one line, else before its first.
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
		return // a map that begins within a line
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
	default: // the last line does not end, and goes on not ending
		e.replace(len(e.text), 0, end+text)
	}
}

func (e *edit) replace(at, length int, by string) {
	e.text = bytes.Join([][]byte{e.text[:at], e.text[at+length:]}, []byte(by))
}

// offset is where a node begins: columns count characters.
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

// lineStarts returns where the lines of a text begin, as YAML counts them.
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

// scalar writes a commit so that it is a text: digits alone, or with an "e" among them, are a number to YAML.
func scalar(commit string) string {
	if strings.Trim(commit, "0123456789e") == "" {
		return `"` + commit + `"`
	}
	return commit
}
