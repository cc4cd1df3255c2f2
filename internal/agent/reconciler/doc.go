// Package reconciler reads what the reconcilers of a Kubernetes cluster say about themselves. It only reads.
//
//	objects of the cluster ─► informers ─► stores ─► [Reports] ─► what each reconciler follows, its revision and state
//
// [Reports] is a pure function from an object to what it says. It understands
//
//	Flux         Kustomization, HelmRelease, with the source that they name: GitRepository, OCIRepository, HelmRepository
//	Argo CD      Application, each of its sources
//	all others   conditions as Kubernetes has agreed on them (kstatus); what such an object follows, its annotations say
//
// A [Watcher] keeps the objects of some kinds in memory, without what nobody reads, and says when any of them changed.
// Its snapshots are always of everything: what is gone is simply not there, and no event can be lost.
// A kind that the cluster does not serve is normal, and may come later; one that may not be read does not stop the others.
package reconciler
