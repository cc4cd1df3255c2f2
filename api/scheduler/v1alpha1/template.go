package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +kubebuilder:validation:Enum=reconciler;namespace;config

// TemplateType says which file of an assignment a template writes.
type TemplateType string

const (
	// ReconcilerTemplate writes reconciler.yaml.
	ReconcilerTemplate TemplateType = "reconciler"
	// NamespaceTemplate writes namespace.yaml.
	NamespaceTemplate TemplateType = "namespace"
	// ConfigTemplate writes platform-config.yaml, or platform-config.sh for content type sh.
	ConfigTemplate TemplateType = "config"
)

// +kubebuilder:validation:Enum=yaml;sh

// ContentType is the format of what a template writes.
type ContentType string

const (
	// ContentYAML is Kubernetes manifests; several are separated by "---".
	ContentYAML ContentType = "yaml"
	// ContentShell is a shell script that exports variables.
	ContentShell ContentType = "sh"
)

// No CEL rule can ask for either manifests or a chart, because manifests are of any type, which CEL does not see.
// Reading a control plane checks it, and so does the editor schema.

// TemplateSpec holds what is filled in for each assignment: either manifests or a chart.
type TemplateSpec struct {
	// Type says which file of an assignment the template writes.
	Type TemplateType `json:"type"`

	// ContentType is the format of what is written. Default: yaml.
	// +optional
	// +kubebuilder:default=yaml
	ContentType ContentType `json:"contentType,omitempty"`

	// Manifests are Go templates, each a text, or plain objects in which each string is a template.
	// +optional
	// +listType=atomic
	Manifests []apiextensionsv1.JSON `json:"manifests,omitempty"`

	// Chart is the folder of a Helm chart in the control plane that is rendered instead of manifests,
	// with the same data as values.
	// +optional
	Chart string `json:"chart,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status

// Template turns an assignment into manifests: its namespace, its platform configuration,
// or the resources of the reconciler that delivers it.
type Template struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   TemplateSpec `json:"spec,omitempty"`
	Status Status       `json:"status,omitempty"`
}
