package fleet

import (
	"strconv"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// templateDocument is a Template that keeps the nodes of its manifests, for their lines.
type templateDocument struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Type        v1alpha1.TemplateType            `json:"type"`
		ContentType v1alpha1.ContentType             `json:"contentType"`
		FileName    v1alpha1.FileName                `json:"fileName"`
		Keys        map[string]v1alpha1.ManifestKeys `json:"keys"`
		Manifests   []*yaml.Node                     `json:"manifests"`
		Chart       string                           `json:"chart"`
	} `json:"spec"`
	Status v1alpha1.Status `json:"status"`
}

// decodeTemplate decodes a Template. Package render parses its texts.
func decodeTemplate(d *decoder, root *yaml.Node) any {
	var doc templateDocument
	d.into(root, &doc)
	d.require(root, "spec", "type")
	oneOf(d, root, doc.Spec.Type, []v1alpha1.TemplateType{
		v1alpha1.ReconcilerTemplate, v1alpha1.NamespaceTemplate, v1alpha1.ConfigTemplate,
	}, "spec", "type")
	oneOf(d, root, doc.Spec.ContentType, []v1alpha1.ContentType{v1alpha1.ContentYAML, v1alpha1.ContentShell}, "spec", "contentType")
	oneOf(d, root, doc.Spec.FileName, []v1alpha1.FileName{v1alpha1.FileReconciler, v1alpha1.FileZarf}, "spec", "fileName")
	for _, key := range []string{"fileName", "keys"} {
		if n := lookup(root, "spec", key); n != nil && doc.Spec.Type != v1alpha1.ReconcilerTemplate {
			d.fail(KindInvalidValue, n, "remove it", "%s is for templates of type reconciler", d.field("spec", key))
		}
	}
	d.cleanPath(root, &doc.Spec.Chart, "spec", "chart")
	if lookup(root, "spec", "chart") == nil {
		d.require(root, "spec", "manifests")
	}
	t := &Template{Name: doc.Name, Type: doc.Spec.Type, ContentType: doc.Spec.ContentType, FileName: doc.Spec.FileName, Keys: doc.Spec.Keys, Chart: doc.Spec.Chart}
	if t.ContentType == "" {
		t.ContentType = v1alpha1.ContentYAML
	}
	for i, n := range doc.Spec.Manifests {
		d.within("spec.manifests["+strconv.Itoa(i)+"]", func() { t.Manifests = append(t.Manifests, d.manifest(n)) })
	}
	return t
}

// manifest decodes a text, or an object in which each string is a template.
func (d *decoder) manifest(n *yaml.Node) TemplateManifest {
	m := TemplateManifest{Position: Position{Line: n.Line}}
	switch {
	case n.Kind == yaml.MappingNode:
		m.Object = d.plain(n).(map[string]any)
	case n.Kind == yaml.ScalarNode && n.Tag == stringTag:
		m.Text = n.Value
		if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			m.Position.Line++ // the text begins below its indicator
		}
	default:
		d.wrongType(n, d.field(), "a string or a map")
	}
	return m
}
