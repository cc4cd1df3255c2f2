package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TemplateType says which file of an assignment a template writes.
// +kubebuilder:validation:Enum=reconciler;namespace;config
type TemplateType string

const (
	// ReconcilerTemplate writes reconciler.yaml.
	ReconcilerTemplate TemplateType = "reconciler"
	// NamespaceTemplate writes namespace.yaml.
	NamespaceTemplate TemplateType = "namespace"
	// ConfigTemplate writes platform-config.yaml, or platform-config.sh for content type sh.
	ConfigTemplate TemplateType = "config"
)

// ContentType is the format of what a template writes.
// +kubebuilder:validation:Enum=yaml;sh
type ContentType string

const (
	// ContentYAML is Kubernetes manifests; several are separated by "---".
	ContentYAML ContentType = "yaml"
	// ContentShell is a shell script that exports variables.
	ContentShell ContentType = "sh"
)

// TemplateSpec holds the manifests that are filled in for each assignment: either manifests or a chart.
// No CEL rule can say so, because manifests are of any type; reading a control plane checks it.
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

// Template turns an assignment into manifests: its namespace, its platform configuration,
// or the resources of the reconciler that delivers it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Template struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   TemplateSpec `json:"spec,omitempty"`
	Status Status       `json:"status,omitempty"`
}
