package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:object:root=true

// ClusterList is a list of Cluster objects.
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Cluster `json:"items"`
}

// +kubebuilder:object:root=true

// DeploymentDescriptorList is a list of DeploymentDescriptor objects.
type DeploymentDescriptorList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []DeploymentDescriptor `json:"items"`
}

// +kubebuilder:object:root=true

// DirectDeliveryList is a list of DirectDelivery documents.
type DirectDeliveryList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []DirectDelivery `json:"items"`
}

// +kubebuilder:object:root=true

// ReconcilerList is a list of Reconciler objects.
type ReconcilerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Reconciler `json:"items"`
}
