package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GrantSpec gives the assignments of the targets that it selects more rights on clusters than those in their own namespace.
type GrantSpec struct {
	// DeploymentTargetSelector selects deployment targets of a workspace, which is required: labels belong to the applications, which could
	// claim the grant of another workspace with them.
	// +kubebuilder:validation:XValidation:rule="has(self.workspace) && self.workspace != ''",message="workspace is required"
	DeploymentTargetSelector DeploymentTargetSelector `json:"deploymentTargetSelector"`

	// Roles are the roles that are granted.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Roles []GrantedRole `json:"roles"`
}

// GrantedRole is a ClusterRole, and where its rights apply. Default: in the namespace of each assignment.
type GrantedRole struct {
	// ClusterRole is the name of a ClusterRole that exists on the clusters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClusterRole string `json:"clusterRole"`

	// Namespaces are other namespaces, in which the rights apply instead of that of the assignment. They must exist on the clusters.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	Namespaces []string `json:"namespaces,omitempty"`

	// ClusterWide gives the rights in the whole cluster, including objects without a namespace.
	// +optional
	ClusterWide bool `json:"clusterWide,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status

// Grant gives the service accounts of assignments rights beyond their own namespace. Only the platform team writes it, in the
// control plane.
type Grant struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GrantSpec `json:"spec,omitempty"`
	Status Status    `json:"status,omitempty"`
}
