package values

import (
	"bytes"
	"path"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// YAML formats the values for reviewers: each with its origin, and the values it overrode.
// Origins have no line numbers, so that a change elsewhere in a file does not affect the output.
//
//	image:
//	    tag: 1.4.0 # --set
//	replicas: 2 # eu/values.yaml, over 1 in values.yaml
//	host: eu.example.com # eu/values.cel.yaml: target.labels.region + ".example.com"
func (c *Composed) YAML() ([]byte, error) {
	keys := make(map[string]Key, len(c.Keys))
	for _, key := range c.Keys {
		keys[key.Path] = key
	}
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	if err := encoder.Encode(annotated(c.root, "", c.Data, keys)); err != nil {
		return nil, err
	}
	return b.Bytes(), encoder.Close()
}

// annotated returns a value as YAML with comments. Maps are sorted by key.
func annotated(n *node, at string, data any, keys map[string]Key) *yaml.Node {
	fields, ok := data.(map[string]any)
	if n.fields == nil || !ok {
		var y yaml.Node
		if err := y.Encode(data); err != nil { // values that were decoded can be encoded
			y = yaml.Node{Kind: yaml.ScalarNode, Value: text(data)}
		}
		y.LineComment = keys[at].comment()
		return &y
	}
	y := &yaml.Node{Kind: yaml.MappingNode}
	for _, name := range n.keys() {
		var key yaml.Node
		key.SetString(name)
		value := annotated(n.fields[name], Join(at, name), fields[name], keys)
		if value.Kind != yaml.ScalarNode && value.LineComment != "" {
			key.LineComment, value.LineComment = value.LineComment, "" // a list begins in the next line
		}
		y.Content = append(y.Content, &key, value)
	}
	return y
}

// maxOver is the maximum number of overridden values in a comment.
const maxOver = 10

// comment describes a value's origin, in one line.
func (k Key) comment() string {
	comment := "# " + place(k.From)
	if k.Expression != "" {
		comment += ": " + clip(strings.Join(strings.Fields(k.Expression), " "))
	}
	for i, lost := range k.Over {
		if i == maxOver {
			comment += ", ..."
			break
		}
		comment += ", over " + clip(strings.Join(strings.Fields(lost.Value), " ")) + " in " + place(lost.From)
	}
	return strings.Map(printable, comment)
}

// place returns the file, or the source of a value without one.
func place(at fleet.Position) string {
	if at.File == "" {
		return at.Source
	}
	return path.Clean(at.File)
}

// printable removes control characters and line separators from a comment.
func printable(r rune) rune {
	if !unicode.IsPrint(r) {
		return ' '
	}
	return r
}
