package plan

import (
	"bytes"
	"cmp"
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

// takesAlong reports whether deleting the object deletes others: those in a namespace, or those that a reconciler applied.
func (o Object) takesAlong() bool { return o.Kind != "ConfigMap" && o.Kind != "Secret" }

// lostObjects returns the objects that the old texts contain and the new ones do not. Those that take others along come first.
func lostObjects(old, now [][]byte) []Object {
	if len(old) == len(now) && slices.EqualFunc(old, now, sameIdentities) {
		return nil
	}
	kept := map[Object]bool{}
	for _, text := range now {
		for _, o := range objects(text) {
			kept[o] = true
		}
	}
	var lost []Object
	for _, text := range old {
		for _, o := range objects(text) {
			if !kept[o] {
				kept[o] = true
				lost = append(lost, o)
			}
		}
	}
	slices.SortStableFunc(lost, func(a, b Object) int { return cmp.Compare(rank(a), rank(b)) })
	return lost
}

func rank(o Object) int {
	if o.takesAlong() {
		return 0
	}
	return 1
}

// objects returns the objects in a text with several documents, up to the first one that is not YAML. Templates can write
// other names than those that the assignment suggests, so the text is parsed.
func objects(text []byte) []Object {
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

// sameIdentities reports whether two texts surely contain the same objects, without parsing them: a template that changes
// in a thousand assignments rarely changes names.
func sameIdentities(old, now []byte) bool {
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
