package chart

import (
	"fmt"
	"slices"
	"strings"
)

// Manifests are what was rendered for one target.
type Manifests struct {
	// Content is the text, documents separated by "---", each with a comment that names the file it comes from.
	Content []byte `json:"content"`
	// Objects are the objects in Content, in order.
	Objects []Object `json:"objects,omitempty"`
	// Images are the container images in the objects, sorted.
	Images []string `json:"images,omitempty"`
}

// Object is one rendered object.
type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// Source is its file in the chart, kustomization or folder.
	Source string `json:"source,omitempty"`
}

// String formats an object as Kind/name, or Kind/namespace/name.
func (o Object) String() string {
	if o.Namespace == "" {
		return o.Kind + "/" + o.Name
	}
	return o.Kind + "/" + o.Namespace + "/" + o.Name
}

// writer collects manifests in the format of helm template.
type writer struct {
	text    strings.Builder
	objects []Object
	images  []string
	err     error
}

// add appends the text of a file, which can have several documents.
func (w *writer) add(source, text string) {
	w.write(source, text)
	for _, text := range split(text) {
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
	if w.text.Len() > MaxOutput {
		w.err = fmt.Errorf("the manifests have more than %d MiB", MaxOutput>>20)
	}
}

// note records a document's object and images.
func (w *writer) note(d document) {
	if w.err != nil || d.fields == nil {
		return
	}
	o := Object{APIVersion: text(d.fields, "apiVersion"), Kind: d.kind(), Source: d.source}
	if metadata, ok := d.fields["metadata"].(map[string]any); ok {
		o.Name, o.Namespace = text(metadata, "name"), text(metadata, "namespace")
	}
	if o.APIVersion == "" || o.Kind == "" {
		w.err = fmt.Errorf("%s: an object has no apiVersion or no kind; it begins with %.40q", d.source, d.text)
		return
	}
	w.objects = append(w.objects, o)
	w.images = appendImages(w.images, d.fields)
}

// trim removes trailing empty lines, like helm template does before the hooks.
func (w *writer) trim() {
	text := strings.TrimSpace(w.text.String())
	w.text.Reset()
	if text != "" {
		w.text.WriteString(text + "\n")
	}
}

// appendImages appends the value of every field "image" that can be a container image, at any depth:
// custom resources use various fields.
func appendImages(images []string, v any) []string {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if image, ok := value.(string); ok && key == "image" && image != "" && !strings.ContainsAny(image, " \t\n") {
				images = append(images, image)
			}
			images = appendImages(images, value)
		}
	case []any:
		for _, item := range v {
			images = appendImages(images, item)
		}
	}
	return images
}

// manifests returns the collected documents as one text that ends with a newline.
func (w *writer) manifests() (*Manifests, error) {
	if w.err != nil {
		return nil, w.err
	}
	slices.Sort(w.images)
	w.trim()
	return &Manifests{Content: []byte(w.text.String()), Objects: w.objects, Images: slices.Compact(w.images)}, nil
}
