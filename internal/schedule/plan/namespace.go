package plan

import (
	"bytes"
	"slices"

	"go.yaml.in/yaml/v3"
)

// lostNamespaces returns the namespaces that the old text creates and the new one does not.
func lostNamespaces(old, now []byte) []string {
	kept := namespaces(now)
	var lost []string
	for _, name := range namespaces(old) {
		if !slices.Contains(kept, name) {
			lost = append(lost, name)
		}
	}
	return lost
}

// namespaces returns the names of the Namespace objects in a text with several documents, up to the first invalid
// one. Templates can write other namespaces than the one that the assignment suggests, so the text is parsed.
func namespaces(text []byte) []string {
	var names []string
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var doc struct {
			Kind     string
			Metadata struct{ Name string }
		}
		if decoder.Decode(&doc) != nil {
			return names
		}
		if doc.Kind == "Namespace" {
			names = append(names, doc.Metadata.Name)
		}
	}
}
