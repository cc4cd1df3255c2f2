package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SchedulingPolicySpec assigns the targets it selects to the cluster types it selects.
type SchedulingPolicySpec struct {
	// DeploymentTargetSelector selects deployment targets. Empty selects every target.
	// +optional
	DeploymentTargetSelector DeploymentTargetSelector `json:"deploymentTargetSelector,omitempty"`

	// ClusterTypeSelector selects cluster types. Empty selects every cluster type.
	// +optional
	ClusterTypeSelector ClusterTypeSelector `json:"clusterTypeSelector,omitempty"`
}

// DeploymentTargetSelector selects deployment targets by workspace and labels.
type DeploymentTargetSelector struct {
	// Workspace is the workspace whose targets are selected. Empty means every workspace.
	// +optional
	Workspace string `json:"workspace,omitempty"`

	// LabelSelector works as in Kubernetes; an empty one matches everything.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// ClusterTypeSelector selects cluster types by labels.
type ClusterTypeSelector struct {
	// LabelSelector works as in Kubernetes; an empty one matches everything.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=schedulingpolicies

// SchedulingPolicy schedules deployment targets onto cluster types of its environment.
// A target is assigned to a cluster type when at least one policy selects both.
type SchedulingPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   SchedulingPolicySpec `json:"spec,omitempty"`
	Status Status               `json:"status,omitempty"`
}
