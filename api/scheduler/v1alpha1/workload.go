package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WorkloadRegistrationSpec defines where a workload is described and who owns it.
type WorkloadRegistrationSpec struct {
	// Workload locates the Workload in the application's source repository.
	Workload Repository `json:"workload"`

	// Workspace is the team or group of applications that owns the workload. Policies select it.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Workspace string `json:"workspace,omitempty"`

	// Repositories are the URLs of additional repositories that the application may use for its configuration and
	// manifests when a server delivers it. Relative ones are resolved like that of the workload. Always allowed are
	// its source and the repositories next to it whose names start with its name and a dash. The platform's
	// repositories are never allowed. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=2048
	Repositories []string `json:"repositories,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=kalypso
// +kubebuilder:printcolumn:name="Workspace",type=string,JSONPath=`.spec.workspace`
// +kubebuilder:printcolumn:name="Workload",type=string,JSONPath=`.spec.workload.repo`
// +kubebuilder:printcolumn:name="Branch",type=string,JSONPath=`.spec.workload.branch`,priority=1
// +kubebuilder:printcolumn:name="Path",type=string,JSONPath=`.spec.workload.path`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// WorkloadRegistration adds a workload to the control plane.
type WorkloadRegistration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   WorkloadRegistrationSpec `json:"spec,omitempty"`
	Status Status                   `json:"status,omitempty"`
}

// WorkloadSpec lists the deployment targets of a workload.
type WorkloadSpec struct {
	// DeploymentTargets are the named targets of the workload.
	// +optional
	// +listType=map
	// +listMapKey=name
	DeploymentTargets []WorkloadTarget `json:"deploymentTargets,omitempty"`

	// ConfigSchemas name the ConfigSchemas that the platform configuration of every target must satisfy.
	// +optional
	// +listType=set
	ConfigSchemas []string `json:"configSchemas,omitempty"`

	// DependsOn are the workloads that every target needs. An assignment is held until each of them is on the same
	// cluster type. A policy of mode onDemand assigns them where they are needed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	DependsOn []Dependency `json:"dependsOn,omitempty"`
}

// Dependency is another workload that a target needs on the same cluster type.
type Dependency struct {
	// Workload is the name of the workload.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Workload string `json:"workload"`

	// Target is the name of one of the workload's targets of the same environment. Default: any of them.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Target string `json:"target,omitempty"`
}

// WorkloadTarget is a deployment target as the application team writes it.
type WorkloadTarget struct {
	// Name is unique within the workload. The derived target is called "<workload>-<name>".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// Labels are added to the labels of the workload and override them. "workload" and "workspace" cannot be set
	// here; the registration sets them.
	// +optional
	// +nullable
	Labels map[string]string `json:"labels,omitempty"`

	DeploymentTargetSpec `json:",inline"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=kalypso
// +kubebuilder:printcolumn:name="Targets",type=string,JSONPath=`.spec.deploymentTargets[*].name`
// +kubebuilder:printcolumn:name="Environments",type=string,JSONPath=`.spec.deploymentTargets[*].environment`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="!self.metadata.name.contains('.') && self.metadata.name.size() <= 63",message="the name is a DNS label: at most 63 characters, and no dots"

// Workload is an application or platform service, as its team describes it: what runs, but not where.
type Workload struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   WorkloadSpec `json:"spec,omitempty"`
	Status Status       `json:"status,omitempty"`
}

// DeploymentTargetSpec defines the environment of a target and locates its manifests.
type DeploymentTargetSpec struct {
	// Environment is the name of the target's environment.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Environment string `json:"environment"`

	// Manifests tell the reconciler where this target's manifests are. repo, branch or tag, and path are the usual keys. The template of
	// the reconciler decides which other ones there are, such as storage, chart and secret, and can refuse those that it does not use.
	// rings names the rings of the branch, separated by commas, in order; clusters of other rings are in the last one.
	// +optional
	Manifests map[string]string `json:"manifests,omitempty"`

	// ConfigSchemas name the ConfigSchemas that the platform configuration of this target must satisfy, in addition
	// to those of the workload.
	// +optional
	// +listType=set
	ConfigSchemas []string `json:"configSchemas,omitempty"`

	// Requests are the resources that the target needs on each cluster: cpu, memory, or any other name. They count against
	// the capacity of the cluster type. Default: none.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Requests map[string]resource.Quantity `json:"requests,omitempty"`

	// RequiredFeatures are features that a cluster type must have for the target to be assigned to it.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	RequiredFeatures []RequiredFeature `json:"requiredFeatures,omitempty"`

	// DependsOn are the workloads that this target needs, in addition to those of the workload. An assignment is held until each of them is on the same
	// cluster type. A policy of mode onDemand assigns them where they are needed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	DependsOn []Dependency `json:"dependsOn,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=kalypso
// +kubebuilder:printcolumn:name="Environment",type=string,JSONPath=`.spec.environment`
// +kubebuilder:printcolumn:name="Workload",type=string,JSONPath=`.metadata.labels.workload`
// +kubebuilder:printcolumn:name="Workspace",type=string,JSONPath=`.metadata.labels.workspace`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// DeploymentTarget is a named place where a workload runs. It is derived from a Workload, or written directly with
// the labels "workload" and "workspace".
type DeploymentTarget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   DeploymentTargetSpec `json:"spec,omitempty"`
	Status Status               `json:"status,omitempty"`
}
