package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/chart"
)

// writer collects manifests in the format of helm template.
type writer struct {
	text    strings.Builder
	objects []chart.Object
	images  []string
	err     error
}

// add appends the text of a file, which can have several documents.
func (w *writer) add(source, text string) {
	w.write(source, text)
	for _, text := range chart.Documents(text) {
		if w.err != nil {
			return
		}
		var d document
		d, w.err = read(source, text)
		w.note(d)
	}
}

// put appends a document.
func (w *writer) put(d document) {
	w.write(d.source, d.text)
	w.note(d)
}

func (w *writer) write(source, text string) {
	if w.err != nil {
		return
	}
	fmt.Fprintf(&w.text, "---\n# Source: %s\n%s\n", source, text)
	if w.text.Len() > maxOutput {
		w.err = fmt.Errorf("the manifests have more than %d MiB", maxOutput>>20)
	}
}

// note records a document's object and images.
func (w *writer) note(d document) {
	if w.err != nil || d.fields == nil {
		return
	}
	o := chart.Object{APIVersion: text(d.fields, "apiVersion"), Kind: d.kind(), Source: d.source}
	if metadata, ok := d.fields["metadata"].(map[string]any); ok {
		o.Name, o.Namespace = text(metadata, "name"), text(metadata, "namespace")
	}
	if o.APIVersion == "" || o.Kind == "" {
		w.err = fmt.Errorf("%s: an object has no apiVersion or no kind; it begins with %.40q", d.source, d.text)
		return
	}
	w.objects = append(w.objects, o)
	w.images = chart.AppendImages(w.images, d.fields)
}

// trim removes trailing empty lines, like helm template does before the hooks.
func (w *writer) trim() {
	text := strings.TrimSpace(w.text.String())
	w.text.Reset()
	if text != "" {
		w.text.WriteString(text + "\n")
	}
}

// manifests returns the collected documents as one text that ends with a newline.
func (w *writer) manifests() (*chart.Manifests, error) {
	if w.err != nil {
		return nil, w.err
	}
	slices.Sort(w.images)
	w.trim()
	return &chart.Manifests{Content: []byte(w.text.String()), Objects: w.objects, Images: slices.Compact(w.images)}, nil
}
