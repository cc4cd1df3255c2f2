package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DeploymentDescriptorSpec says which version of which workload the manifests beside it hold.
type DeploymentDescriptorSpec struct {
	// Workload is what was rendered, and whose it is.
	Workload DescribedWorkload `json:"workload"`

	// DeploymentTarget is the place it was rendered for.
	DeploymentTarget DescribedTarget `json:"deploymentTarget"`

	// WorkloadVersion is the version that was rendered.
	WorkloadVersion WorkloadVersion `json:"workloadVersion"`
}

// DescribedWorkload names a workload and where it comes from.
type DescribedWorkload struct {
	// Name is the name of the Workload.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Source is the place in the application's source repository.
	// +optional
	Source *Repository `json:"source,omitempty"`

	// Application is the application that the workload is a part of.
	// +optional
	Application *Application `json:"application,omitempty"`
}

// Application is what a team calls its workloads together.
type Application struct {
	// Name is the name of the application.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Workspace is the team that owns the application.
	// +optional
	Workspace *Workspace `json:"workspace,omitempty"`
}

// Workspace is a team, or a group of applications.
type Workspace struct {
	// Name is the name that policies select.
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
}

// DescribedTarget names a deployment target and where its manifests are.
type DescribedTarget struct {
	// Name is the name of the target, as the workload has it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=127
	Name string `json:"name"`

	// Environment is the environment the target exists in.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Environment string `json:"environment"`

	// Manifests is the folder that reconcilers follow.
	// Reports of clusters are joined with the version by repository, branch and path.
	Manifests Repository `json:"manifests"`
}

// WorkloadVersion identifies what was built, and when.
type WorkloadVersion struct {
	// Version is the version as people call it, such as 1.4.0.
	// +kubebuilder:validation:MaxLength=253
	Version string `json:"version"`

	// Build is the number or name of the build that made it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Build string `json:"build,omitempty"`

	// Commit is the commit of the source that was built.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Commit string `json:"commit,omitempty"`

	// BuildTime is when it was built; lead times count from here.
	// It is text, since descriptors that exist write it in many forms; RFC 3339 is understood.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	BuildTime string `json:"buildTime,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status

// DeploymentDescriptor ties a folder of generated manifests to the version of the workload in it.
// Clusters report commits only; with this, the commit of a GitOps repository tells versions.
type DeploymentDescriptor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   DeploymentDescriptorSpec `json:"spec,omitempty"`
	Status Status                   `json:"status,omitempty"`
}
