package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ClusterSpec says what a physical cluster serves as.
type ClusterSpec struct {
	// Memberships are the environments that the cluster serves, each with the cluster type it is there.
	// One cluster may serve several environments, as long as their reconcilers do not meet under one name.
	// +optional
	// +listType=map
	// +listMapKey=environment
	// +listMapKey=clusterType
	// +kubebuilder:validation:MaxItems=256
	Memberships []Membership `json:"memberships,omitempty"`

	// Labels describe the cluster: region, hardware, owner. They only select and show.
	// +optional
	// +nullable
	Labels map[string]string `json:"labels,omitempty"`
}

// Membership is one role of a cluster.
type Membership struct {
	// Environment is the name of the environment.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Environment string `json:"environment"`

	// ClusterType is the name of the cluster type whose folder the cluster follows.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	ClusterType string `json:"clusterType"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status

// Cluster is one physical cluster. Creating it is other programs' work; this hands it over.
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   ClusterSpec `json:"spec,omitempty"`
	Status Status      `json:"status,omitempty"`
}
