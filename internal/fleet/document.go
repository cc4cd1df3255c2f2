package fleet

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/text/nearest"
)

// document is an object of a file, independent of the file's path: its positions have lines only.
type document struct {
	header
	value  any    // a pointer to the object
	lines  []int  // of the elements of a Workload
	digest Digest // of the document's text and line
}

// header holds the common fields of Kubernetes documents, as far as they can be read.
type header struct {
	apiVersion, kind, name string
	labels                 map[string]string
	unlabelled             bool // metadata or labels is not a map, so the labels are unknown
	line                   int
}

// ref names the object. The name may be invalid.
func (h header) ref() Ref { return Ref{Kind: safe(h.kind), Name: safe(h.name)} }

func (h header) unreadable() Unreadable {
	labels := h.labels
	if h.kind == kindConfigMap || h.kind == kindSchema {
		labels = MatchingLabels(labels)
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

// readHeader reads the header of a document. A misspelt field is read as what it stands for, so that it is known what is affected:
// decoding the object reports it.
func readHeader(root *yaml.Node) header {
	metadata := childOrTypo(root, "metadata")
	labels := childOrTypo(metadata, "labels")
	return header{
		apiVersion: readText(childOrTypo(root, "apiVersion")),
		kind:       readText(childOrTypo(root, "kind")),
		name:       readText(childOrTypo(metadata, "name")),
		labels:     configMark(readLabels(labels)),
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

// readLabels reads the labels of an object that may be invalid otherwise.
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

// reading is what to do with a document, by its API version and kind.
type reading int

const (
	readSkip     reading = iota // ignore: not a Kubernetes document, or one that is expected in a control plane
	readForeign                 // another Kubernetes document
	readList                    // a list of documents
	readUnknown                 // an unknown kind of the scheduler's group
	readResult                  // a kind that only the scheduler writes
	readVersion                 // a known kind with an unknown or missing version
	readKind                    // the scheduler's group, but kind is missing
	readTypo                    // a misspelt kind or API version
	readUnmarked                // a ConfigMap that is not platform configuration
	readObject                  // a known kind
)

func (h header) reading() reading {
	switch {
	case h.apiVersion == "" && h.forgotten():
		return readVersion
	case h.kind == "" && (h.group() == v1alpha1.GroupVersion.Group || h.apiVersion == "v1" && h.labels[ConfigLabel] == "true"):
		return readKind
	case h.apiVersion == "" || h.kind == "":
		return readSkip
	case h.apiVersion == "v1" && h.kind == kindConfigMap:
		if h.unlabelled || h.labels[ConfigLabel] == "true" || isStore(h.name) {
			return readObject
		}
		return readUnmarked
	case h.apiVersion == "v1" && h.kind == kindList:
		return readList
	case h.apiVersion == foreignVersions[h.kind]:
		return readObject
	case h.group() == "kustomize.config.k8s.io":
		return readSkip
	case h.group() == v1alpha1.GroupVersion.Group:
		return h.ownReading()
	case h.kind == kindConfigMap && h.labels[ConfigLabel] == "true":
		return readVersion
	case h.meant() != "":
		return readTypo
	}
	return readForeign
}

// forgotten reports whether a document without an API version is meant for the scheduler:
// it has a name and a known kind, and is not just any YAML with a "kind".
func (h header) forgotten() bool {
	_, known := kinds[h.kind]
	return known && h.name != "" && (h.kind != kindConfigMap || h.labels[ConfigLabel] == "true")
}

// meant returns the kind that a document of another API version or kind is a typo of, or "".
func (h header) meant() string {
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		version := cmp.Or(foreignVersions[name], v1alpha1.GroupVersion.String())
		kind := h.kind == name && nearest.IsTypo(h.apiVersion, version) || nearest.IsTypo(h.kind, name) && h.apiVersion == version
		if kind && (name != kindConfigMap || h.labels[ConfigLabel] == "true" || isStore(h.name)) {
			return name
		}
	}
	if h.apiVersion == "v1" && nearest.IsTypo(h.kind, kindList) {
		return kindList
	}
	return ""
}

// configMark corrects a typo in the label that makes a ConfigMap platform configuration. Decoding the ConfigMap reports it.
func configMark(labels map[string]string) map[string]string {
	if value, ok := labels[ConfigLabel]; ok {
		if nearest.IsTypo(value, "true") {
			labels[ConfigLabel] = "true"
		}
		return labels
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if labels[key] == "true" && nearest.IsTypo(key, ConfigLabel) {
			delete(labels, key)
			labels[ConfigLabel] = "true"
		}
	}
	return labels
}

func (h header) version() string {
	return cmp.Or(foreignVersions[h.kind], v1alpha1.GroupVersion.String())
}

// ownReading returns the reading of a document of the scheduler's group.
func (h header) ownReading() reading {
	if h.apiVersion != v1alpha1.GroupVersion.String() {
		return readVersion
	}
	for _, result := range results {
		if h.kind == result {
			return readResult
		}
	}
	if _, known := kinds[h.kind]; known && foreignVersions[h.kind] == "" {
		return readObject
	}
	return readUnknown
}
