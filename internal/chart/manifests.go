package chart

import (
	"fmt"
	"slices"
	"strings"

	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	sigs "sigs.k8s.io/yaml"
)

// Manifests are what was rendered for one target.
type Manifests struct {
	// Content is the text, documents separated by "---", each with a comment that names the file it comes from.
	Content []byte `json:"content"`
	// Objects are the objects in it, in their order.
	Objects []Object `json:"objects,omitempty"`
	// Images are the container images that the objects name, sorted.
	Images []string `json:"images,omitempty"`
}

// Object is one rendered object.
type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// Source is the file of the chart, kustomization or folder that it comes from.
	Source string `json:"source,omitempty"`
}

// String formats an object as Kind/name, or Kind/namespace/name.
func (o Object) String() string {
	if o.Namespace == "" {
		return o.Kind + "/" + o.Name
	}
	return o.Kind + "/" + o.Namespace + "/" + o.Name
}

// writer collects manifests in the form that helm template has.
type writer struct {
	text    strings.Builder
	objects []Object
	images  []string
	err     error
}

// add appends a manifest of a file, which may have several documents.
func (w *writer) add(source, text string) {
	if w.err != nil {
		return
	}
	fmt.Fprintf(&w.text, "---\n# Source: %s\n%s\n", source, text)
	if w.text.Len() > MaxOutput {
		w.err = fmt.Errorf("the manifests have more than %d MiB", MaxOutput>>20)
		return
	}
	if !strings.Contains(text, "---") { // nearly all: to look for what separates documents takes a tenth of reading one
		if err := w.read(source, text); err != nil {
			w.err = fmt.Errorf("%s: %w", source, err)
		}
		return
	}
	documents := releaseutil.SplitManifests(text)
	names := make([]string, 0, len(documents))
	for name := range documents {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if len(a) != len(b) { // manifest-2 comes before manifest-10
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		if err := w.read(source, documents[name]); err != nil {
			w.err = fmt.Errorf("%s: %w", source, err)
			return
		}
	}
}

// trim drops the empty lines at the end of what was added, as helm template does before the hooks.
func (w *writer) trim() {
	text := strings.TrimSpace(w.text.String())
	w.text.Reset()
	if text != "" {
		w.text.WriteString(text + "\n")
	}
}

// read notes what a document is, and the images it names.
func (w *writer) read(source, document string) error {
	var data any
	if err := unmarshal([]byte(document), &data); err != nil {
		return fmt.Errorf("what it makes is not valid YAML: %w", plain(err))
	}
	if data == nil {
		return nil // nothing but comments
	}
	fields, ok := data.(map[string]any)
	if !ok {
		return fmt.Errorf("what it makes is not a Kubernetes object: it begins with %.40q", document)
	}
	o := Object{APIVersion: text(fields, "apiVersion"), Kind: text(fields, "kind"), Source: source}
	if metadata, ok := fields["metadata"].(map[string]any); ok {
		o.Name, o.Namespace = text(metadata, "name"), text(metadata, "namespace")
	}
	if o.APIVersion == "" || o.Kind == "" {
		return fmt.Errorf("an object has no apiVersion or no kind; it begins with %.40q", document)
	}
	w.objects = append(w.objects, o)
	w.images = appendImages(w.images, fields)
	return nil
}

// unmarshal reads YAML. The parser has been seen to panic on input that it should refuse.
func unmarshal(content []byte, into any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML parser gave up: %v", r)
		}
	}()
	return sigs.Unmarshal(content, into)
}

func text(fields map[string]any, key string) string {
	s, _ := fields[key].(string)
	return s
}

// appendImages appends the value of every field "image" that can be a container image, wherever it lies:
// custom resources have them in places of their own.
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

// manifests returns what was collected, as one text that ends with a newline.
func (w *writer) manifests() (*Manifests, error) {
	if w.err != nil {
		return nil, w.err
	}
	slices.Sort(w.images)
	w.trim()
	return &Manifests{Content: []byte(w.text.String()), Objects: w.objects, Images: slices.Compact(w.images)}, nil
}
