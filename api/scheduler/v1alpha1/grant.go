package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GrantSpec gives the assignments of the targets that it selects more rights on clusters than those in their own namespace.
// +kubebuilder:validation:XValidation:rule="has(self.roles) && size(self.roles) > 0 || has(self.secrets) && size(self.secrets) > 0",message="roles or secrets are required"
type GrantSpec struct {
	// DeploymentTargetSelector selects deployment targets of a workspace, which is required: labels belong to the applications, which could
	// claim the grant of another workspace with them.
	// +kubebuilder:validation:XValidation:rule="has(self.workspace) && self.workspace != ''",message="workspace is required"
	DeploymentTargetSelector DeploymentTargetSelector `json:"deploymentTargetSelector"`

	// Roles are the roles that are granted.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	Roles []GrantedRole `json:"roles,omitempty"`

	// Secrets are the Secrets outside of the assignments' namespaces that the applications may name as the credentials of their
	// sources, such as those in the namespace of the cluster type's label flux-sources.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	Secrets []GrantedSecret `json:"secrets,omitempty"`
}

// GrantedSecret is a Secret with credentials, and where reconcilers may send them.
type GrantedSecret struct {
	// Name is the name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// URL is what the URLs of the repositories start with: a scheme and a host, and whole segments of the path, such as
	// https://git.example.com/kaizen. The scheme is part of it: https does not include http or ssh.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9+.-]*://[^/@?#\s]+(/[^?#\s]*)?$`
	URL string `json:"url"`
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
// +kubebuilder:resource:categories=kalypso
// +kubebuilder:printcolumn:name="Roles",type=string,JSONPath=`.spec.roles[*].clusterRole`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// Grant gives the service accounts of assignments rights beyond their own namespace. Only the platform team writes it, in the
// control plane.
type Grant struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GrantSpec `json:"spec,omitempty"`
	Status Status    `json:"status,omitempty"`
}
