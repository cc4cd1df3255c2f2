package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "scheduler.kalypso.io", Version: "v1alpha1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&Assignment{}, &AssignmentList{},
		&AssignmentPackage{}, &AssignmentPackageList{},
		&BaseRepo{}, &BaseRepoList{},
		&CheckPolicy{}, &CheckPolicyList{},
		&Cluster{}, &ClusterList{},
		&ClusterType{}, &ClusterTypeList{},
		&ConfigRepo{}, &ConfigRepoList{},
		&ConfigSchema{}, &ConfigSchemaList{},
		&ControlPlane{}, &ControlPlaneList{},
		&DeploymentTarget{}, &DeploymentTargetList{},
		&Environment{}, &EnvironmentList{},
		&GitOpsRepo{}, &GitOpsRepoList{},
		&Grant{}, &GrantList{},
		&SchedulingPolicy{}, &SchedulingPolicyList{},
		&Template{}, &TemplateList{},
		&Workload{}, &WorkloadList{},
		&WorkloadRegistration{}, &WorkloadRegistrationList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
