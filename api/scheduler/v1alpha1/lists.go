package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:object:root=true

// AssignmentList is a list of Assignment objects.
type AssignmentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Assignment `json:"items"`
}

// +kubebuilder:object:root=true

// AssignmentPackageList is a list of AssignmentPackage objects.
type AssignmentPackageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AssignmentPackage `json:"items"`
}

// +kubebuilder:object:root=true

// BaseRepoList is a list of BaseRepo objects.
type BaseRepoList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []BaseRepo `json:"items"`
}

// +kubebuilder:object:root=true

// CheckPolicyList is a list of CheckPolicy objects.
type CheckPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []CheckPolicy `json:"items"`
}

// +kubebuilder:object:root=true

// ClusterList is a list of Cluster objects.
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Cluster `json:"items"`
}

// +kubebuilder:object:root=true

// ClusterTypeList is a list of ClusterType objects.
type ClusterTypeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ClusterType `json:"items"`
}

// +kubebuilder:object:root=true

// ConfigRepoList is a list of ConfigRepo objects.
type ConfigRepoList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ConfigRepo `json:"items"`
}

// +kubebuilder:object:root=true

// ConfigSchemaList is a list of ConfigSchema objects.
type ConfigSchemaList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ConfigSchema `json:"items"`
}

// +kubebuilder:object:root=true

// ControlPlaneList is a list of ControlPlane objects.
type ControlPlaneList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ControlPlane `json:"items"`
}

// +kubebuilder:object:root=true

// DeploymentTargetList is a list of DeploymentTarget objects.
type DeploymentTargetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []DeploymentTarget `json:"items"`
}

// +kubebuilder:object:root=true

// EnvironmentList is a list of Environment objects.
type EnvironmentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Environment `json:"items"`
}

// +kubebuilder:object:root=true

// GitOpsRepoList is a list of GitOpsRepo objects.
type GitOpsRepoList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []GitOpsRepo `json:"items"`
}

// +kubebuilder:object:root=true

// GrantList is a list of Grant objects.
type GrantList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Grant `json:"items"`
}

// +kubebuilder:object:root=true

// SchedulingPolicyList is a list of SchedulingPolicy objects.
type SchedulingPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []SchedulingPolicy `json:"items"`
}

// +kubebuilder:object:root=true

// TemplateList is a list of Template objects.
type TemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Template `json:"items"`
}

// +kubebuilder:object:root=true

// WorkloadList is a list of Workload objects.
type WorkloadList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Workload `json:"items"`
}

// +kubebuilder:object:root=true

// WorkloadRegistrationList is a list of WorkloadRegistration objects.
type WorkloadRegistrationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []WorkloadRegistration `json:"items"`
}
