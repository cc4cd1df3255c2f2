package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ReconcilerSpec says what one reconciler of a cluster follows, and how far it has come.
type ReconcilerSpec struct {
	// HostName is the cluster that the reconciler runs on.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	HostName string `json:"hostName"`

	// Type is the make of the reconciler, such as flux or argocd.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Type string `json:"type,omitempty"`

	// ManifestsEndpoint is where it takes manifests from: a repository with branch and path, a chart, a bucket.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	ManifestsEndpoint string `json:"manifestsEndpoint,omitempty"`

	// ManifestsStorageType is the kind of storage at the endpoint. Default: git.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	ManifestsStorageType string `json:"manifestsStorageType,omitempty"`

	// Deployment is the last that it did.
	// +optional
	Deployment *Deployment `json:"deployment,omitempty"`
}

// Deployment is what came of a commit on a cluster.
type Deployment struct {
	// GitOpsCommitID is the commit of the GitOps repository that the reconciler has applied, or tries to.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	GitOpsCommitID string `json:"gitOpsCommitId,omitempty"`

	// Status is what came of it, in the words of the reconciler.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Status string `json:"status,omitempty"`

	// StatusMessage says more, above all about failures.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	StatusMessage string `json:"statusMessage,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status

// Reconciler is the report on one reconciler of a cluster.
type Reconciler struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   ReconcilerSpec `json:"spec,omitempty"`
	Status Status         `json:"status,omitempty"`
}
