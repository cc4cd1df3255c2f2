// +kubebuilder:object:generate=true
// +groupName=hub.kalypso.io

// Package v1alpha1 defines the Kubernetes resource types of the group hub.kalypso.io, for deployment observability.
//
// Git defines what should run, and clusters report what runs; the ledger combines both:
//
//	DeploymentDescriptor   which version of a workload a folder of manifests holds; generated next to the manifests
//	Reconciler             what one reconciler of a cluster follows, and its progress
//	Cluster                one physical cluster, and the environments that it serves
//
// [DeploymentDescriptor] is a file in an application's GitOps repository. [Reconciler] and [Cluster] are for
// installations that describe clusters as files or objects; the server
// registers clusters and accepts reports without them.
package v1alpha1
