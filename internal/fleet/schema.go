package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// schemaDocument is a ConfigSchema that keeps the schema's node.
type schemaDocument struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Schema    *yaml.Node             `json:"schema"`
		OnMissing v1alpha1.MissingAction `json:"onMissing"`
	} `json:"spec"`
	Status v1alpha1.Status `json:"status"`
}

// decodeSchema decodes a ConfigSchema. Package config compiles it.
func decodeSchema(d *decoder, root *yaml.Node) any {
	var doc schemaDocument
	d.into(root, &doc)
	d.require(root, "spec", "schema")
	oneOf(d, root, doc.Spec.OnMissing, []v1alpha1.MissingAction{v1alpha1.MissingWarn, v1alpha1.MissingHold}, "spec", "onMissing")
	labels := MatchingLabels(doc.Labels)
	s := &Schema{Name: doc.Name, Labels: labels, OnMissing: doc.Spec.OnMissing}
	if s.OnMissing == "" {
		s.OnMissing = v1alpha1.MissingWarn
	}
	if n := lookup(root, "spec", "schema"); n != nil {
		s.Document = d.schema(n)
	}
	return s
}

// schema returns the JSON Schema of a node, which is a string or an object.
func (d *decoder) schema(n *yaml.Node) any {
	document := any(nil)
	if n.Kind == yaml.ScalarNode && n.Tag == stringTag {
		var err error
		if document, err = d.schemaText(n.Value); err != nil {
			d.fail(KindInvalidValue, n, "", "spec.schema is not a JSON Schema: %v", err)
			return nil
		}
	} else {
		d.within("spec.schema", func() { document = d.plain(n) })
	}
	switch document.(type) {
	case map[string]any, bool:
	default:
		d.fail(KindInvalidValue, n, "", "spec.schema is not a JSON Schema: it must be an object")
	}
	return document
}

// schemaTexts replaces the entries of configSchemas that are the texts of JSON Schemas, not names, by the names of inline
// schemas, which it adds to the snapshot. Such a name has a "#", which no ConfigSchema's name has.
func (a *assembly) schemaTexts(entries []string, owner string, origin Origin) []string {
	names := make([]string, len(entries))
	for i, entry := range entries {
		document, isText := schemaEntry(entry)
		if !isText {
			names[i] = entry
			continue
		}
		sum := sha256.Sum256([]byte(entry))
		names[i] = owner + "#" + hex.EncodeToString(sum[:4])
		at := origin
		at.Digest = Digest(sum).with([]string{names[i]})
		a.inline = append(a.inline, &Schema{Name: names[i], Document: document, Inline: true, OnMissing: v1alpha1.MissingWarn, Origin: at})
	}
	return names
}

// schemaEntry decodes an entry of configSchemas. A text that is meant to be an object, but is not one, is returned as a
// string, which is not a valid schema.
func schemaEntry(entry string) (document any, isText bool) {
	if !strings.ContainsAny(entry, "{:") {
		return nil, false
	}
	document, err := (&decoder{}).schemaText(entry)
	if _, object := document.(map[string]any); object && err == nil {
		return document, true
	}
	return entry, strings.HasPrefix(strings.TrimSpace(entry), "{")
}

// inlineSchemas adds the inline schemas of targets, each once.
func (a *assembly) inlineSchemas() {
	a.s.Schemas = append(a.s.Schemas, a.inline...)
	slices.SortStableFunc(a.s.Schemas, byName)
	a.s.Schemas = slices.CompactFunc(a.s.Schemas, func(x, y *Schema) bool { return x.Inline && y.Inline && x.Name == y.Name })
}

// schemaText decodes JSON or YAML. It tries JSON first, because the JSON decoder keeps numbers exact.
func (d *decoder) schemaText(text string) (any, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var document any
	if err := decoder.Decode(&document); err == nil && !decoder.More() {
		return document, nil
	}
	roots, err := chunk{text: []byte(text)}.documents()
	switch {
	case err != nil:
		return nil, fmt.Errorf("line %d: %s", err.line, err.message)
	case len(roots) == 0:
		return nil, io.ErrUnexpectedEOF
	case len(roots) > 1:
		return nil, errors.New("it has more than one document")
	}
	e := expander{left: MaxNodes}
	if err := e.expand(roots[0], 0); err != nil {
		return nil, fmt.Errorf("line %d: %s", err.line, err.message)
	}
	return d.plain(roots[0]), nil
}
