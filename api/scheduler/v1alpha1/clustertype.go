package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ClusterTypeSpec defines how clusters of a type receive what is scheduled onto them.
type ClusterTypeSpec struct {
	// Extends names another cluster type of the environment. Whatever this one
	// does not set, including labels, is inherited from it.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Extends string `json:"extends,omitempty"`

	// Reconciler names the Template of type reconciler that writes the reconciler's resources,
	// such as flux, argocd, fleet or zarf.
	// +optional
	Reconciler string `json:"reconciler,omitempty"`

	// NamespaceService names the Template of type namespace that writes the namespace of an assignment.
	// +optional
	NamespaceService string `json:"namespaceService,omitempty"`

	// ConfigType names the Template of type config that writes the platform configuration.
	// Empty means "configmap"; "none" means that no configuration is written.
	// +optional
	ConfigType string `json:"configType,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:validation:XValidation:rule="!self.metadata.name.contains('.') && self.metadata.name.size() <= 63",message="the name is a DNS label: at most 63 characters, and no dots"

// ClusterType is a group of clusters with the same configuration. Policies select it by its labels.
type ClusterType struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ClusterTypeSpec `json:"spec,omitempty"`
	Status Status          `json:"status,omitempty"`
}
