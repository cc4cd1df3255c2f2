package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ReconcilerSpec describes what one reconciler of a cluster follows, and its progress.
type ReconcilerSpec struct {
	// HostName is the cluster that the reconciler runs on.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	HostName string `json:"hostName"`

	// Type is the reconciler's product, such as flux or argocd.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Type string `json:"type,omitempty"`

	// ManifestsEndpoint is where the reconciler pulls manifests from: a
	// repository with branch and path, a chart, or a bucket.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	ManifestsEndpoint string `json:"manifestsEndpoint,omitempty"`

	// ManifestsStorageType is the type of storage at the endpoint. Default: git.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	ManifestsStorageType string `json:"manifestsStorageType,omitempty"`

	// Deployment is the reconciler's latest deployment.
	// +optional
	Deployment *Deployment `json:"deployment,omitempty"`
}

// Deployment is the outcome of a commit on a cluster.
type Deployment struct {
	// GitOpsCommitID is the commit of the GitOps repository that the reconciler applied or is trying to apply.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	GitOpsCommitID string `json:"gitOpsCommitId,omitempty"`

	// Status is the outcome, as reported by the reconciler.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Status string `json:"status,omitempty"`

	// StatusMessage explains the status, especially failures.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	StatusMessage string `json:"statusMessage,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=kalypso
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Host",type=string,JSONPath=`.spec.hostName`
// +kubebuilder:printcolumn:name="Manifests",type=string,JSONPath=`.spec.manifestsEndpoint`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// Reconciler is the report about one reconciler of a cluster.
type Reconciler struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   ReconcilerSpec `json:"spec,omitempty"`
	Status Status         `json:"status,omitempty"`
}
