package chart

import "strings"

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

// AppendImages appends the value of every field "image" that can be a container image, at any depth:
// custom resources use various fields.
func AppendImages(images []string, v any) []string {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if image, ok := value.(string); ok && key == "image" && image != "" && !strings.ContainsAny(image, " \t\n") {
				images = append(images, image)
			}
			images = AppendImages(images, value)
		}
	case []any:
		for _, item := range v {
			images = AppendImages(images, item)
		}
	}
	return images
}
