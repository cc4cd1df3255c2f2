package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +kubebuilder:validation:Enum=reconciler;namespace;config

// TemplateType defines which file of an assignment a template writes.
type TemplateType string

const (
	// ReconcilerTemplate writes reconciler.yaml, or the file that fileName says.
	ReconcilerTemplate TemplateType = "reconciler"
	// NamespaceTemplate writes namespace.yaml.
	NamespaceTemplate TemplateType = "namespace"
	// ConfigTemplate writes platform-config.yaml, or platform-config.sh for content type sh.
	ConfigTemplate TemplateType = "config"
)

// +kubebuilder:validation:Enum=yaml;sh

// ContentType is the output format of a template.
type ContentType string

const (
	// ContentYAML is Kubernetes manifests, separated by "---".
	ContentYAML ContentType = "yaml"
	// ContentShell is a shell script that exports variables.
	ContentShell ContentType = "sh"
)

// +kubebuilder:validation:Enum=reconciler.yaml;zarf.yaml

// FileName is the name of the file that a template of type reconciler writes.
type FileName string

const (
	// FileReconciler is for objects that a cluster applies.
	FileReconciler FileName = "reconciler.yaml"
	// FileZarf is where "zarf package create" looks for the description of a package.
	FileZarf FileName = "zarf.yaml"
)

// +listType=atomic

// ManifestKeys are keys of a target's manifests. "branch|tag" means that a target sets one of them at most.
type ManifestKeys []string

// A CEL rule cannot require exactly one of manifests and chart, because manifests have any type, which CEL cannot
// access. The rule is enforced when a control plane is read, and by the editor schema.

// TemplateSpec defines what is rendered for each assignment: either manifests or a chart.
//
// +kubebuilder:validation:XValidation:rule="!has(self.fileName) || self.type == 'reconciler'",message="only a template of type reconciler has a fileName"
// +kubebuilder:validation:XValidation:rule="!has(self.keys) || self.type == 'reconciler'",message="only a template of type reconciler has keys"
type TemplateSpec struct {
	// Type defines which file of an assignment the template writes.
	Type TemplateType `json:"type"`

	// ContentType is the output format. Default: yaml.
	// +optional
	// +kubebuilder:default=yaml
	ContentType ContentType `json:"contentType,omitempty"`

	// FileName is the file that a template of type reconciler writes. Default: reconciler.yaml.
	// +optional
	FileName FileName `json:"fileName,omitempty"`

	// Keys are the keys of a target's manifests that a template of type reconciler uses, by the target's storage, which is git
	// if it names none. A target with another storage, or with a key that would have no effect, is held. "branch|tag" means that a
	// target sets one of them at most. Default: a target may have any storage and keys.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	Keys map[string]ManifestKeys `json:"keys,omitempty"`

	// Manifests are Go templates: texts, or objects in which each string is a template.
	// +optional
	// +listType=atomic
	Manifests []apiextensionsv1.JSON `json:"manifests,omitempty"`

	// Chart is the folder of a Helm chart in the control plane. It is rendered
	// instead of manifests, with the same data as values.
	// +optional
	Chart string `json:"chart,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=kalypso
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Content",type=string,JSONPath=`.spec.contentType`
// +kubebuilder:printcolumn:name="File",type=string,JSONPath=`.spec.fileName`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// Template renders manifests for an assignment: its namespace, its platform configuration, or the resources of the
// reconciler that delivers it.
type Template struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   TemplateSpec `json:"spec,omitempty"`
	Status Status       `json:"status,omitempty"`
}
