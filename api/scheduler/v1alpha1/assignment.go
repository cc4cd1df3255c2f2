package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AssignmentSpec names the target and cluster type that policies matched.
type AssignmentSpec struct {
	// ClusterType is the name of the cluster type.
	ClusterType string `json:"clusterType"`
	// DeploymentTarget is the name of the deployment target.
	DeploymentTarget string `json:"deploymentTarget"`
	// Policies are the names of all policies that select the pair, sorted.
	// +optional
	// +listType=set
	Policies []string `json:"policies,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=kalypso
// +kubebuilder:printcolumn:name="Cluster Type",type=string,JSONPath=`.spec.clusterType`
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.spec.deploymentTarget`
// +kubebuilder:printcolumn:name="Policies",type=string,JSONPath=`.spec.policies[*]`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// Assignment is the decision that a deployment target runs on a cluster type.
type Assignment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   AssignmentSpec `json:"spec,omitempty"`
	Status Status         `json:"status,omitempty"`
}

// AssignmentPackageSpec holds the rendered files of an assignment.
type AssignmentPackageSpec struct {
	// Assignment is the name of the Assignment the files belong to.
	Assignment string `json:"assignment"`
	// Files are the contents by file name, such as namespace.yaml.
	// +optional
	Files map[string]string `json:"files,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=kalypso
// +kubebuilder:printcolumn:name="Assignment",type=string,JSONPath=`.spec.assignment`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// AssignmentPackage is what is written to the GitOps repository for one assignment.
type AssignmentPackage struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   AssignmentPackageSpec `json:"spec,omitempty"`
	Status Status                `json:"status,omitempty"`
}
