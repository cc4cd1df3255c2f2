package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DeploymentDescriptorSpec identifies the workload, target and version of the manifests next to it.
type DeploymentDescriptorSpec struct {
	// Workload is the workload that was rendered.
	Workload DescribedWorkload `json:"workload"`

	// DeploymentTarget is the target it was rendered for.
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

// Application groups workloads of a team.
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
	// Name is the name that policies refer to.
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
}

// DescribedTarget names a deployment target and locates its manifests.
type DescribedTarget struct {
	// Name is the name of the target in the workload.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=127
	Name string `json:"name"`

	// Environment is the environment of the target.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Environment string `json:"environment"`

	// Manifests is the folder that reconcilers follow. Cluster reports are matched
	// to the version by its repository, branch and path.
	Manifests Repository `json:"manifests"`
}

// WorkloadVersion identifies what was built, and when.
type WorkloadVersion struct {
	// Version is the human-readable version, such as 1.4.0.
	// +kubebuilder:validation:MaxLength=253
	Version string `json:"version"`

	// Build is the number or name of the build.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Build string `json:"build,omitempty"`

	// Commit is the source commit that was built.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Commit string `json:"commit,omitempty"`

	// BuildTime is the time of the build; lead times are measured from it. It is text, because existing descriptors
	// use many formats. Kalypso reads RFC 3339.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	BuildTime string `json:"buildTime,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=kalypso
// +kubebuilder:printcolumn:name="Workload",type=string,JSONPath=`.spec.workload.name`
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.spec.deploymentTarget.name`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.spec.workloadVersion.version`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// DeploymentDescriptor maps a folder of generated manifests to the version of the workload in it. Clusters report
// commits only; the descriptor at a commit of the GitOps repository tells the version.
type DeploymentDescriptor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   DeploymentDescriptorSpec `json:"spec,omitempty"`
	Status Status                   `json:"status,omitempty"`
}
