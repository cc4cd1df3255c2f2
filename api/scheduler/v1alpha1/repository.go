package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Repository points to a folder on a branch of a Git repository.
type Repository struct {
	// Repo is the URL of the repository: https://, ssh://, git@host:path, file:// or a path. A relative path is
	// resolved against the location of the control plane repository.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Repo string `json:"repo"`

	// Branch is the branch to read. Empty means the repository's default branch.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Branch string `json:"branch,omitempty"`

	// Path is the folder to read, relative to the root of the repository. Empty and "." mean the root; "./x" and "x/"
	// are the same as "x". ".." is rejected.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path,omitempty"`
}

// BaseRepoSpec defines which commit of the control plane's main branch an environment uses.
type BaseRepoSpec struct {
	Repository `json:",inline"`

	// Commit is the promoted commit of the branch, as a full SHA.
	// Empty means the head of the branch.
	// +optional
	// +kubebuilder:validation:Pattern=`^([0-9a-f]{40}|[0-9a-f]{64})?$`
	Commit string `json:"commit,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=baserepoes,categories=kalypso
// +kubebuilder:printcolumn:name="Branch",type=string,JSONPath=`.spec.branch`
// +kubebuilder:printcolumn:name="Commit",type=string,JSONPath=`.spec.commit`
// +kubebuilder:printcolumn:name="Repository",type=string,JSONPath=`.spec.repo`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// BaseRepo is the pointer from an environment branch to the promoted commit of main. It has the name of the base
// branch, usually "main"; others are ignored.
type BaseRepo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   BaseRepoSpec `json:"spec,omitempty"`
	Status Status       `json:"status,omitempty"`
}

// GitOpsRepoSpec defines where the generated files of an environment are written.
type GitOpsRepoSpec struct {
	Repository `json:",inline"`

	// AutoMerge merges the generated pull request when its checks pass. A pull request that exceeds the deletion
	// budget is never merged automatically. Default: false.
	// +optional
	AutoMerge bool `json:"autoMerge,omitempty"`

	// DeletionBudget is how many assignments one pull request may remove without approval: a number, or a percentage
	// of the environment's assignments. 0: every removal needs approval. Default: 20%, and at least 5.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^(100|[0-9]{1,2})%$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 0",message="deletionBudget is a number from 0 or a percentage"
	DeletionBudget *intstr.IntOrString `json:"deletionBudget,omitempty"`

	// HandedOver is what happens to objects of a reconciler that others have taken over from, because a template gives them
	// another name, namespace or kind. keep leaves them on clusters beside the new ones. remove deletes those that were handed over
	// before it was set, which is safe when every cluster has applied the new ones. Default: keep.
	// +optional
	// +kubebuilder:default=keep
	HandedOver HandedOver `json:"handedOver,omitempty"`

	// Publish is a repository of a registry, oci://host/path without tag and credentials. Each merged commit is published there as
	// an immutable artifact, from which clusters can pull instead of Git. Empty publishes nothing.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^(oci://[A-Za-z0-9.-]+(:[0-9]+)?(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)+)?$`
	Publish string `json:"publish,omitempty"`

	// Unmanaged are paths in the folders of the GitOps branch where other programs or users keep files that clusters apply, such as
	// */flux-system/: a file, or a folder with "/" at its end, relative to path. A "*" stands for one whole name, which is not the last.
	// Other added files stop promotion. Files in the folder of an assignment, and whole folders of cluster types, clusters and rings,
	// can't be permitted.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=1024
	// +kubebuilder:validation:items:Pattern=`^([^/*?\[\]\\]+|\*)(/([^/*?\[\]\\]+|\*))*/[^/*?\[\]\\]+/?$`
	Unmanaged []string `json:"unmanaged,omitempty"`
}

// HandedOver is what happens to objects of a reconciler that others have taken over from.
// +kubebuilder:validation:Enum=keep;remove
type HandedOver string

const (
	// HandedOverKeep leaves them on clusters.
	HandedOverKeep HandedOver = "keep"
	// HandedOverRemove deletes them.
	HandedOverRemove HandedOver = "remove"
)

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=gitopsrepoes,categories=kalypso
// +kubebuilder:printcolumn:name="Repository",type=string,JSONPath=`.spec.repo`
// +kubebuilder:printcolumn:name="Branch",type=string,JSONPath=`.spec.branch`
// +kubebuilder:printcolumn:name="Auto Merge",type=boolean,JSONPath=`.spec.autoMerge`
// +kubebuilder:printcolumn:name="Path",type=string,JSONPath=`.spec.path`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// GitOpsRepo locates an environment's generated files in the platform GitOps repository.
type GitOpsRepo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   GitOpsRepoSpec `json:"spec,omitempty"`
	Status Status         `json:"status,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=configrepoes,categories=kalypso
// +kubebuilder:printcolumn:name="Repository",type=string,JSONPath=`.spec.repo`
// +kubebuilder:printcolumn:name="Branch",type=string,JSONPath=`.spec.branch`
// +kubebuilder:printcolumn:name="Path",type=string,JSONPath=`.spec.path`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// ConfigRepo adds a platform configuration repository to an environment: its ClusterTypes, ConfigMaps and
// ConfigSchemas are read as if they were in the environment branch.
type ConfigRepo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   Repository `json:"spec,omitempty"`
	Status Status     `json:"status,omitempty"`
}

// Status is the status that all kinds share: standard Kubernetes conditions.
// It is set only if the scheduler runs on Kubernetes.
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
