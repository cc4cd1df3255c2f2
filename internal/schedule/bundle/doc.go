// Package bundle turns the assignments of an environment into the files of its GitOps branch.
//
//	<path>/<clusterType>/README.md
//	<path>/<clusterType>/<target>/namespace.yaml
//	<path>/<clusterType>/<target>/platform-config.yaml
//	<path>/<clusterType>/<target>/reconciler.yaml     or zarf.yaml
//	<path>/.kalypso/inventory/<clusterType>.json
//	<path>/.kalypso/schedulers/<policy>.json      what external schedulers answered
//	<path>/clusters/<cluster>/...                  the same for a cluster with values of its own
//	<path>/.kalypso/inventory/clusters/<cluster>.json
//	.github/tracking/Promoted_Commit_Id          (below <path> if environments share the branch)
//
// [Build] is a pure function of a snapshot and what the branch already holds ([Published]):
//
//	placement ─► for each assignment: configuration ─► manifests ─► files ┐
//	                                                                      ├─► Folder of a cluster type ─► Bundle
//	published files and inventory ─► what is held, removed, adopted ──────┘
//
// An assignment that cannot be rendered, or that depends on something that cannot be read, is held: it keeps its
// published files. What was deleted from the control plane is removed, unless a file could not be read, because that
// file might still define it. Files that are not in an inventory are never touched.
//
// An object of a reconciler that another one replaces is handed over: it stays beside the new one and deletes nothing, until the platform team
// lets it be removed.
//
// Builds are incremental: given an earlier bundle, only results whose inputs changed are rendered again. The output
// is identical, byte for byte.
//
// # Clusters with values of their own
//
// Clusters of a type share its folder. One for which platform configuration is different has a folder of its own, with what is
// assigned to its type, in the same namespaces and with the same names: a cluster that changes between the two folders keeps
// its objects. A new folder is written when everything in it can be rendered, and stays as long as its Cluster
// exists, even without values of its own, because a cluster follows it.
package bundle
