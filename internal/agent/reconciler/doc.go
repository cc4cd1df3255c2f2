// Package reconciler reads the states of the reconcilers of a Kubernetes cluster. It only reads.
//
//	objects of the cluster ─► informers ─► stores ─► [Reports] ─► source, revision and state of each reconciler
//
// [Reports] is a pure function of an object. It supports
//
//	Flux         Kustomization and HelmRelease, with their source: GitRepository, OCIRepository, HelmRepository
//	Argo CD      Application, each of its sources
//	Fleet        GitRepo of the local cluster, each of its paths, with its Bundles and BundleDeployments
//	all others   conditions that Kubernetes tools agree on (kstatus); annotations have the source
//
// A [Watcher] keeps the objects of some kinds in memory, without fields that are not read, and signals changes.
// A snapshot always contains everything: removed objects are simply not in it, and no event can be lost.
// A kind that the cluster does not serve is normal, and may be added later. One that may not be read does not stop the others.
package reconciler
