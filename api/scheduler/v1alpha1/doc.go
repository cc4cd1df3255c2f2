// +kubebuilder:object:generate=true
// +groupName=scheduler.kalypso.io

// Package v1alpha1 holds the nouns that platform and application teams write,
// as Kubernetes resource types of the group scheduler.kalypso.io.
//
// Application teams say what runs: [Workload] with its deployment targets.
// Platform teams say where it may run and how it gets there:
// [Environment], [BaseRepo], [GitOpsRepo], [ConfigRepo], [ClusterType], [SchedulingPolicy],
// [WorkloadRegistration], [Template], [ConfigSchema] and [CheckPolicy].
// [DeploymentTarget] is derived from a Workload, and [Assignment] and [AssignmentPackage] are results;
// they are written as objects only where the scheduler runs on Kubernetes.
//
// The types describe documents in Git first. A control plane repository needs no cluster;
// the custom resource definitions generated from this package are an optional front door.
package v1alpha1
