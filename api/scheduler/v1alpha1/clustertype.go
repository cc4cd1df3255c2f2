package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ClusterTypeSpec says how clusters of a type receive what is scheduled on them.
type ClusterTypeSpec struct {
	// Extends names another cluster type of the environment:
	// what this one does not set itself, labels included, is taken from there.
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

// ClusterType is a group of clusters that are configured alike; its labels are what policies select.
type ClusterType struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ClusterTypeSpec `json:"spec,omitempty"`
	Status Status          `json:"status,omitempty"`
}
