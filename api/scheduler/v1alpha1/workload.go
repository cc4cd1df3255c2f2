package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// WorkloadRegistrationSpec says where a workload is described and whose it is.
type WorkloadRegistrationSpec struct {
	// Workload is the place in the application source repository that holds the Workload.
	Workload Repository `json:"workload"`

	// Workspace is the team or group of applications that owns the workload; policies select it.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Workspace string `json:"workspace,omitempty"`

	// Repositories are URLs of further repositories that the application may name for its configuration and manifests when a
	// server delivers it; relative ones count as that of the workload. Its source is allowed anyway, and so are repositories beside
	// it whose names begin with its name and a dash; those of the platform never are. Default: no others.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=2048
	Repositories []string `json:"repositories,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status

// WorkloadRegistration brings a workload into the control plane.
type WorkloadRegistration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   WorkloadRegistrationSpec `json:"spec,omitempty"`
	Status Status                   `json:"status,omitempty"`
}

// WorkloadSpec lists the deployment targets of a workload.
type WorkloadSpec struct {
	// DeploymentTargets are the places the workload wants to run at, by name.
	// +optional
	// +listType=map
	// +listMapKey=name
	DeploymentTargets []WorkloadTarget `json:"deploymentTargets,omitempty"`

	// ConfigSchemas name the ConfigSchemas that the platform configuration of every target has to satisfy.
	// +optional
	// +listType=set
	ConfigSchemas []string `json:"configSchemas,omitempty"`
}

// WorkloadTarget is one deployment target as an application team writes it.
type WorkloadTarget struct {
	// Name is unique within the workload; the derived target is called "<workload>-<name>".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// Labels are laid over the labels of the workload. "workload" and "workspace" cannot be set here:
	// what is written under these names is overruled by the registration.
	// +optional
	// +nullable
	Labels map[string]string `json:"labels,omitempty"`

	DeploymentTargetSpec `json:",inline"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:validation:XValidation:rule="!self.metadata.name.contains('.') && self.metadata.name.size() <= 63",message="the name is a DNS label: at most 63 characters, and no dots"

// Workload is an application or platform service, as its team describes it: what should run, never where.
type Workload struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   WorkloadSpec `json:"spec,omitempty"`
	Status Status       `json:"status,omitempty"`
}

// DeploymentTargetSpec says in which environment a target exists and where its manifests are.
type DeploymentTargetSpec struct {
	// Environment is the name of the environment the target exists in.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Environment string `json:"environment"`

	// Manifests tell the reconciler where the manifests of this target are.
	// repo, branch and path are the usual keys; storage, type, tag, chart and any other key reach the templates too.
	// +optional
	Manifests map[string]string `json:"manifests,omitempty"`

	// ConfigSchemas name the ConfigSchemas that the platform configuration of this target has to satisfy,
	// in addition to those of the workload.
	// +optional
	// +listType=set
	ConfigSchemas []string `json:"configSchemas,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status

// DeploymentTarget is a named place a workload wants to run at. It is derived from a Workload;
// it may also be written directly, with the labels "workload" and "workspace".
type DeploymentTarget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   DeploymentTargetSpec `json:"spec,omitempty"`
	Status Status               `json:"status,omitempty"`
}
