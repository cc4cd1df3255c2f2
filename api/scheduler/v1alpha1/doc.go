// +kubebuilder:object:generate=true
// +groupName=scheduler.kalypso.io

// Package v1alpha1 defines the Kubernetes resource types of the group scheduler.kalypso.io, which platform and
// application teams write.
//
// Application teams define what runs: [Workload] with its deployment targets. Platform teams define where it can run
// and how it gets there: [Environment], [BaseRepo], [GitOpsRepo], [ConfigRepo], [ClusterType], [Cluster], [SchedulingPolicy],
// [WorkloadRegistration], [Template], [ConfigSchema] and [CheckPolicy]. [DeploymentTarget] is derived from a
// Workload, and [Assignment] and [AssignmentPackage] are results; they exist
// as objects only if the scheduler runs on Kubernetes.
//
// [ControlPlane] is the only kind that is never a document in Git: it tells the operator what to schedule.
//
// The types describe documents in Git. A control plane repository needs no cluster; the custom resource definitions
// generated from this package are optional.
package v1alpha1
