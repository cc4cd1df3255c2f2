package bundle

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Object identifies an object in a cluster. The version of its API does not matter: an object that moves to
// another version stays the same object.
type Object struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String returns "Kind name" or "Kind namespace/name".
func (o Object) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// Applies reports whether the object makes a reconciler apply others, which are deleted with it.
func (o Object) Applies() bool {
	switch o.Group {
	case fluxKustomize, fluxHelm, rancherFleet:
		return true
	case argo:
		return o.Kind == "Application" || o.Kind == "ApplicationSet"
	}
	return false
}

// API groups of reconcilers.
const (
	fluxSource    = "source.toolkit.fluxcd.io"
	fluxKustomize = "kustomize.toolkit.fluxcd.io"
	fluxHelm      = "helm.toolkit.fluxcd.io"
	argo          = "argoproj.io"
	rancherFleet  = "fleet.cattle.io"
)

// Objects returns the objects in a text with several documents, up to the first one that is not YAML. Templates can write
// other names than those that the assignment suggests, so the text is parsed.
func Objects(text []byte) []Object {
	var all []Object
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var doc document
		var wrongType *yaml.TypeError // the rest of the document was decoded
		if err := decoder.Decode(&doc); err != nil && !errors.As(err, &wrongType) {
			return all
		}
		all = doc.appendTo(all)
	}
}

// document is what identifies an object, or the objects of a List.
type document struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Name, Namespace string }
	Items      []document
}

// appendTo appends the object, and those of a List: clusters apply and delete the items, not the List.
func (d document) appendTo(all []Object) []Object {
	if strings.HasSuffix(d.Kind, "List") {
		for _, item := range d.Items {
			all = item.appendTo(all)
		}
	}
	if d.Kind == "" || d.Metadata.Name == "" {
		return all
	}
	group, _, found := strings.Cut(d.APIVersion, "/")
	if !found {
		group = ""
	}
	return append(all, Object{group, d.Kind, d.Metadata.Namespace, d.Metadata.Name})
}

// SameObjects reports whether two texts surely contain the same objects, without parsing them: a template that changes
// in a thousand assignments rarely changes names.
func SameObjects(old, now []byte) bool {
	was, ok := identityLines(old)
	if !ok {
		return false
	}
	is, ok := identityLines(now)
	return ok && slices.EqualFunc(was, is, bytes.Equal)
}

// identityLines returns the lines of a text that can belong to the identity of an object, and others. It reports false if
// the text is not written in the plain block style, or contains a List, so that only a parser knows its objects.
func identityLines(text []byte) (lines [][]byte, ok bool) {
	kinds, documents := 0, 1
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, " \r\n")
		content := bytes.TrimLeft(line, " ")
		if len(content) == 0 {
			continue
		}
		if bytes.HasPrefix(line, []byte("---")) {
			if len(lines) > 0 {
				documents++
			}
			lines = append(lines, line)
			continue
		}
		// Quoted keys, flow style, anchors, aliases, merge keys and complex keys.
		if bytes.IndexByte([]byte("\"'{[&*!<?"), content[0]) >= 0 {
			return nil, false
		}
		key, value, _ := bytes.Cut(content, []byte(":"))
		top := len(content) == len(line)
		switch string(bytes.TrimSpace(key)) {
		case "items":
			if top {
				return nil, false
			}
			continue
		case "metadata":
			if top && len(value) > 0 {
				return nil, false
			}
		case "kind":
			if top {
				kinds++
			}
			fallthrough
		case "apiVersion", "name", "namespace":
			if value = bytes.TrimSpace(value); len(value) == 0 || bytes.IndexByte([]byte("|>&*!"), value[0]) >= 0 {
				return nil, false
			}
		default:
			continue
		}
		lines = append(lines, line)
	}
	return lines, kinds == documents
}
