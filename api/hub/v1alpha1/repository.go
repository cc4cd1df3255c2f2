package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Repository points to a folder on a branch of a Git repository.
type Repository struct {
	// Repo is the URL of the repository.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Repo string `json:"repo"`

	// Branch is the branch. Empty means the repository's default branch.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Branch string `json:"branch,omitempty"`

	// Path is the folder, relative to the root of the repository. Empty means the root.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path,omitempty"`
}

// Status is the status that all kinds share: standard Kubernetes conditions. It is set only if the documents are
// Kubernetes objects.
type Status struct {
	// Conditions describe the state of the object, by type.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ObservedGeneration is the generation that the conditions refer to.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}
