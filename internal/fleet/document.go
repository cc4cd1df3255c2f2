package fleet

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// document is an object as it is written in a file, whatever the file is called and wherever it lies.
// Its positions have lines only.
type document struct {
	header
	// value points to the object; nil when it cannot be used.
	value any
	// lines are those of the elements of a Workload.
	lines []int
	// digest identifies the text of the document and its line.
	digest Digest
}

// header is what every Kubernetes document begins with, as far as it can be read.
type header struct {
	apiVersion, kind, name string
	labels                 map[string]string
	// unlabelled says that something else than labels stands where they should: nobody knows what they said.
	unlabelled bool
	line       int
}

// ref names the object, also one with a name that is refused.
func (h header) ref() Ref { return Ref{Kind: safe(h.kind), Name: safe(h.name)} }

func (h header) unreadable() Unreadable {
	labels := h.labels
	if h.kind == kindConfigMap || h.kind == kindSchema {
		labels = matchingLabels(labels)
	}
	k, known := kinds[h.kind]
	return Unreadable{
		Ref: h.ref(), Nameless: known && len(k.name.check(h.name)) > 0,
		Labels: labels, Position: Position{Line: h.line},
	}
}

func (h header) group() string {
	group, _, found := strings.Cut(h.apiVersion, "/")
	if !found {
		return "" // the core group
	}
	return group
}

func readHeader(root *yaml.Node) header {
	metadata := child(root, "metadata")
	labels := child(metadata, "labels")
	return header{
		apiVersion: readText(child(root, "apiVersion")),
		kind:       readText(child(root, "kind")),
		name:       readText(child(metadata, "name")),
		labels:     readLabels(labels),
		unlabelled: isNoMap(metadata) || isNoMap(labels),
		line:       root.Line,
	}
}

func isNoMap(n *yaml.Node) bool { return n != nil && n.Kind != yaml.MappingNode }

func readText(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

// readLabels reads the labels of an object that may be broken elsewhere.
func readLabels(n *yaml.Node) map[string]string {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	labels := map[string]string{}
	for key, value := range pairs(n) {
		if value.Kind == yaml.ScalarNode {
			labels[key.Value] = value.Value
		}
	}
	return labels
}

// reading says what to do with a document, by its API version and kind.
type reading int

const (
	readSkip    reading = iota // not a Kubernetes document, or one that is normal in such a repository and not ours
	readForeign                // a Kubernetes document that is not ours
	readList                   // a list of documents
	readUnknown                // of our group, but no kind of it
	readResult                 // of our group, but only the scheduler writes it
	readVersion                // ours, in a version that is not understood or not given
	readKind                   // of our group, but of what kind is not given
	readObject                 // one of ours
)

func (h header) reading() reading {
	switch {
	case h.apiVersion == "" && h.forgotten():
		return readVersion
	case h.kind == "" && h.group() == v1alpha1.GroupVersion.Group:
		return readKind
	case h.apiVersion == "" || h.kind == "":
		return readSkip
	case h.apiVersion == "v1" && h.kind == kindConfigMap:
		if h.unlabelled || h.labels[configLabel] == "true" {
			return readObject
		}
		return readSkip
	case h.apiVersion == "v1" && h.kind == "List":
		return readList
	case h.apiVersion == definitionGroup+"/v1" && h.kind == kindDefinition:
		return readObject
	case h.group() == "kustomize.config.k8s.io":
		return readSkip
	case h.group() == v1alpha1.GroupVersion.Group:
		return h.ownReading()
	}
	return readForeign
}

// forgotten says whether a document without an API version is one of ours all the same:
// a named object of a kind of ours, not just any text with a "kind" in it.
func (h header) forgotten() bool {
	_, known := kinds[h.kind]
	return known && h.name != "" && (h.kind != kindConfigMap || h.labels[configLabel] == "true")
}

// version is the API version that objects of the kind have.
func (h header) version() string {
	switch h.kind {
	case kindConfigMap:
		return "v1"
	case kindDefinition:
		return definitionGroup + "/v1"
	}
	return v1alpha1.GroupVersion.String()
}

// ownReading is that of a document of the scheduler's group.
func (h header) ownReading() reading {
	if h.apiVersion != v1alpha1.GroupVersion.String() {
		return readVersion
	}
	for _, result := range results {
		if h.kind == result {
			return readResult
		}
	}
	if _, known := kinds[h.kind]; known && h.kind != kindConfigMap && h.kind != kindDefinition {
		return readObject
	}
	return readUnknown
}
