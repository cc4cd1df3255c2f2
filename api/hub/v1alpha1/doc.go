// +kubebuilder:object:generate=true
// +groupName=hub.kalypso.io

// Package v1alpha1 holds the nouns of deployment observability,
// as Kubernetes resource types of the group hub.kalypso.io.
//
// What should run is told by Git, what runs by the clusters; the ledger brings the two together:
//
//	DeploymentDescriptor   which version of a workload a folder of manifests holds; generated beside the manifests
//	Reconciler             what one reconciler of a cluster follows, and how far it has come
//	Cluster                one physical cluster, and the environments that it serves
//
// [DeploymentDescriptor] is a file in an application's GitOps repository. [Reconciler] and [Cluster] are documents of
// installations that describe clusters as files or objects; the server registers clusters and takes reports without them.
package v1alpha1
