package engine

import (
	"fmt"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// document is a document of a file, parsed once.
type document struct {
	source, text string
	// fields is nil for a document with only comments.
	fields map[string]any
}

func read(source, text string) (document, error) {
	d := document{source: source, text: text}
	var data any
	if err := fleet.UnmarshalYAML([]byte(text), &data); err != nil {
		return d, fmt.Errorf("%s: its output is not valid YAML: %w", source, plain(err))
	}
	fields, ok := data.(map[string]any)
	if data != nil && !ok {
		return d, fmt.Errorf("%s: its output is not a Kubernetes object: it begins with %.40q", source, text)
	}
	d.fields = fields
	return d, nil
}

func (d document) kind() string { return text(d.fields, "kind") }

func text(fields map[string]any, key string) string {
	s, _ := fields[key].(string)
	return s
}
