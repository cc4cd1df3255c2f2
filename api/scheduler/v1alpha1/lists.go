package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AssignmentList is a list of Assignment objects.
//
// +kubebuilder:object:root=true
type AssignmentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Assignment `json:"items"`
}

// AssignmentPackageList is a list of AssignmentPackage objects.
//
// +kubebuilder:object:root=true
type AssignmentPackageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AssignmentPackage `json:"items"`
}

// BaseRepoList is a list of BaseRepo objects.
//
// +kubebuilder:object:root=true
type BaseRepoList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []BaseRepo `json:"items"`
}

// ClusterTypeList is a list of ClusterType objects.
//
// +kubebuilder:object:root=true
type ClusterTypeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ClusterType `json:"items"`
}

// ConfigRepoList is a list of ConfigRepo objects.
//
// +kubebuilder:object:root=true
type ConfigRepoList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ConfigRepo `json:"items"`
}

// ConfigSchemaList is a list of ConfigSchema objects.
//
// +kubebuilder:object:root=true
type ConfigSchemaList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ConfigSchema `json:"items"`
}

// DeploymentTargetList is a list of DeploymentTarget objects.
//
// +kubebuilder:object:root=true
type DeploymentTargetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []DeploymentTarget `json:"items"`
}

// EnvironmentList is a list of Environment objects.
//
// +kubebuilder:object:root=true
type EnvironmentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Environment `json:"items"`
}

// GitOpsRepoList is a list of GitOpsRepo objects.
//
// +kubebuilder:object:root=true
type GitOpsRepoList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []GitOpsRepo `json:"items"`
}

// SchedulingPolicyList is a list of SchedulingPolicy objects.
//
// +kubebuilder:object:root=true
type SchedulingPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []SchedulingPolicy `json:"items"`
}

// TemplateList is a list of Template objects.
//
// +kubebuilder:object:root=true
type TemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Template `json:"items"`
}

// WorkloadList is a list of Workload objects.
//
// +kubebuilder:object:root=true
type WorkloadList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Workload `json:"items"`
}

// WorkloadRegistrationList is a list of WorkloadRegistration objects.
//
// +kubebuilder:object:root=true
type WorkloadRegistrationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []WorkloadRegistration `json:"items"`
}
