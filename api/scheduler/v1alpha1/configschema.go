package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +kubebuilder:validation:Enum=warn;hold

// MissingAction defines what happens if a required configuration value is missing.
type MissingAction string

const (
	// MissingWarn reports the value and renders the assignment without it.
	MissingWarn MissingAction = "warn"
	// MissingHold keeps the assignment as published until the value is set.
	MissingHold MissingAction = "hold"
)

// ConfigSchemaSpec defines what platform configuration must look like.
type ConfigSchemaSpec struct {
	// Schema is a JSON Schema, as text or as an object.
	Schema apiextensionsv1.JSON `json:"schema"`

	// OnMissing defines what happens if a required value is missing. Default: warn, because platform and application
	// teams work independently.
	// +optional
	// +kubebuilder:default=warn
	OnMissing MissingAction `json:"onMissing,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=kalypso
// +kubebuilder:printcolumn:name="On Missing",type=string,JSONPath=`.spec.onMissing`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// ConfigSchema validates the composed platform configuration of assignments: those whose target or workload names it,
// and those that its labels match, as for ConfigMaps.
type ConfigSchema struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   ConfigSchemaSpec `json:"spec,omitempty"`
	Status Status           `json:"status,omitempty"`
}
