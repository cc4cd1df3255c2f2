package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +kubebuilder:validation:Enum=warn;hold

// MissingAction says what follows when a required configuration value is missing.
type MissingAction string

const (
	// MissingWarn reports the value and renders the assignment without it.
	MissingWarn MissingAction = "warn"
	// MissingHold keeps the assignment at its published state until the value is there.
	MissingHold MissingAction = "hold"
)

// ConfigSchemaSpec says what platform configuration has to look like.
type ConfigSchemaSpec struct {
	// Schema is a JSON Schema, as text or as an object.
	Schema apiextensionsv1.JSON `json:"schema"`

	// OnMissing says what follows when a required value is missing. Default: warn,
	// because platform and application teams work at their own pace.
	// +optional
	// +kubebuilder:default=warn
	OnMissing MissingAction `json:"onMissing,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status

// ConfigSchema describes the composed platform configuration of the assignments it applies to:
// those whose target or workload names it, and those its labels match like a ConfigMap's.
type ConfigSchema struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   ConfigSchemaSpec `json:"spec,omitempty"`
	Status Status           `json:"status,omitempty"`
}
