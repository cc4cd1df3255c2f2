package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kalypso-io/kalypso/internal/text/nearest"
)

// ConfigLabel is the label of ConfigMaps that are platform configuration.
const ConfigLabel = "platform-config"

// MergeAnnotation on a ConfigMap says what its values do to less specific ones: "merge", the default, or "replace".
const MergeAnnotation = "kalypso.io/merge"

// ValuesAnnotation on a ConfigMap says what its values are: "text", the default, or "expressions" in CEL.
const ValuesAnnotation = "kalypso.io/values"

// StorePrefix begins the names of ConfigMaps that the original scheduler filled from another store. Each key has the form
// label1.value1.label2.value2.key, with any number of labels.
const StorePrefix = "azure-app-config"

// StoreKey splits a key of a store into the labels that have to match, and the key of the configuration.
func StoreKey(key string) (labels map[string]string, name string) {
	parts := strings.Split(key, ".")
	labels = map[string]string{}
	for i := 0; i+2 < len(parts); i += 2 {
		labels[parts[i]] = parts[i+1]
	}
	return MatchingLabels(labels), parts[len(parts)-1]
}

// configMapDocument is a ConfigMap whose values keep their nodes, because quotes tell whether a value is a template.
type configMapDocument struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Data              *yaml.Node `json:"data"`
	BinaryData        *yaml.Node `json:"binaryData"`
	Immutable         bool       `json:"immutable"`
}

// decodeConfigMap decodes platform configuration. Other ConfigMaps are skipped earlier.
func decodeConfigMap(d *decoder, root *yaml.Node) any {
	var doc configMapDocument
	d.into(root, &doc)
	if doc.BinaryData != nil && doc.BinaryData.Tag != nullTag {
		d.warn(KindInvalidValue, doc.BinaryData, "write the values as text in data", "binaryData is ignored")
	}
	c := &ConfigMap{Name: doc.Name, Labels: MatchingLabels(doc.Labels), Entries: d.entries(doc.Data)}
	if doc.Labels[ConfigLabel] != "true" && isStore(doc.Name) {
		c.Store, c.Labels = true, map[string]string{}
	}
	if doc.Labels[ConfigLabel] != "true" && configMark(maps.Clone(doc.Labels))[ConfigLabel] == "true" {
		d.fail(KindInvalidValue, lookup(root, "metadata", "labels"), `write platform-config: "true", or another value if it is not platform configuration`,
			"a label of the ConfigMap is a typo of %s: \"true\"", ConfigLabel)
	}
	d.annotations(root)
	switch how := doc.Annotations[MergeAnnotation]; how {
	case "", "merge":
	case "replace":
		c.Replace = true
	default:
		d.fail(KindInvalidValue, lookup(root, "metadata", "annotations", MergeAnnotation), "", "annotation %s is %s, want merge or replace", MergeAnnotation, quoteShort(how))
	}
	switch what := doc.Annotations[ValuesAnnotation]; {
	case what == "" || what == "text":
	case what == "expressions" && !c.Store:
		c.Expressions = true
	case what == "expressions":
		d.fail(KindInvalidValue, lookup(root, "metadata", "annotations", ValuesAnnotation), "", "the values of a store cannot be expressions")
	default:
		d.fail(KindInvalidValue, lookup(root, "metadata", "annotations", ValuesAnnotation), "", "annotation %s is %s, want text or expressions", ValuesAnnotation, quoteShort(what))
	}
	return c
}

// annotations reports annotations that are typos of those that are used.
func (d *decoder) annotations(root *yaml.Node) {
	annotations := lookup(root, "metadata", "annotations")
	if annotations == nil || annotations.Kind != yaml.MappingNode {
		return
	}
	for key := range pairs(annotations) {
		if near := nearest.Typo(key.Value, []string{MergeAnnotation, ValuesAnnotation}); near != "" {
			d.fail(KindUnknownField, key, fmt.Sprintf("did you mean %q?", near), "annotation %s is not used", quoteShort(key.Value))
		}
	}
}

func isStore(name string) bool { return strings.HasPrefix(name, StorePrefix) }

// entries decodes the data of a ConfigMap, and checks it including nested maps.
func (d *decoder) entries(data *yaml.Node) []ConfigEntry {
	if data == nil || data.Tag == nullTag {
		return nil
	}
	d.path = append(d.path, "data")
	defer func() { d.path = d.path[:len(d.path)-1] }()
	if !d.mapping(data) {
		return nil
	}
	entries := make([]ConfigEntry, 0, len(data.Content)/2)
	for key, value := range pairs(data) {
		if errs := validation.IsConfigMapKey(key.Value); len(errs) > 0 {
			d.fail(KindInvalidName, key, "use letters, digits, dashes, dots and underscores", "%s is not a valid key of a ConfigMap", quoteShort(key.Value))
		}
		d.within(key.Value, func() { d.repeatedKeys(value) })
		entries = append(entries, ConfigEntry{Key: key.Value, Value: value})
	}
	slices.SortStableFunc(entries, func(a, b ConfigEntry) int { return cmp.Compare(a.Key, b.Key) })
	return entries
}

// repeatedKeys reports duplicate keys anywhere in a value.
func (d *decoder) repeatedKeys(n *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode:
		d.mapping(n)
	case yaml.ScalarNode:
		return
	}
	for _, inner := range n.Content {
		d.repeatedKeys(inner)
	}
}

// MatchingLabels returns the labels that select where a ConfigMap or ConfigSchema applies:
// without platform-config, and without labels that reconcilers add.
func MatchingLabels(labels map[string]string) map[string]string {
	reconcilers := []string{"kustomize.toolkit.fluxcd.io/", "app.kubernetes.io/", "argocd.argoproj.io/"}
	matching := maps.Clone(labels)
	maps.DeleteFunc(matching, func(key, _ string) bool {
		return key == ConfigLabel || slices.ContainsFunc(reconcilers, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
	})
	if matching == nil {
		matching = map[string]string{}
	}
	return matching
}
