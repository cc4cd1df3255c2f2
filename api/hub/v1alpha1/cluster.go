package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ClusterSpec describes the roles of a physical cluster.
type ClusterSpec struct {
	// Memberships are the environments that the cluster serves, each with the cluster's type there. A cluster may
	// serve several environments if the names of their reconcilers do not collide.
	// +optional
	// +listType=map
	// +listMapKey=environment
	// +listMapKey=clusterType
	// +kubebuilder:validation:MaxItems=256
	Memberships []Membership `json:"memberships,omitempty"`

	// Labels describe the cluster, such as its region, hardware or owner.
	// They are used for selection and display only.
	// +optional
	// +nullable
	Labels map[string]string `json:"labels,omitempty"`
}

// Membership is a cluster's role in one environment.
type Membership struct {
	// Environment is the name of the environment.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Environment string `json:"environment"`

	// ClusterType is the name of the cluster type whose folder the cluster reconciles.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	ClusterType string `json:"clusterType"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=kalypso
// +kubebuilder:printcolumn:name="Environments",type=string,JSONPath=`.spec.memberships[*].environment`
// +kubebuilder:printcolumn:name="Cluster Types",type=string,JSONPath=`.spec.memberships[*].clusterType`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// Cluster is one physical cluster. It is provisioned by other tools; Kalypso only registers it.
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   ClusterSpec `json:"spec,omitempty"`
	Status Status      `json:"status,omitempty"`
}
