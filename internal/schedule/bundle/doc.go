// Package bundle turns the assignments of an environment into the files of its GitOps branch.
//
//	<path>/<clusterType>/README.md
//	<path>/<clusterType>/<target>/namespace.yaml
//	<path>/<clusterType>/<target>/platform-config.yaml
//	<path>/<clusterType>/<target>/reconciler.yaml
//	<path>/.kalypso/inventory/<clusterType>.json
//	.github/tracking/Promoted_Commit_Id
//
// [Build] is a pure function of a snapshot and of what the branch holds already ([Published]):
//
//	placement ─► for each assignment: configuration ─► manifests ─► files ┐
//	                                                                      ├─► Folder of a cluster type ─► Bundle
//	published files and inventory ─► what is held, removed, adopted ──────┘
//
// An assignment that cannot be rendered, or that depends on something that cannot be read, is held:
// it keeps the files it has. What is gone from the control plane is removed, unless a file could not be read,
// because then nobody knows whether it is gone. Files that the inventory does not list are never touched.
//
// Building is incremental: given the bundle of an earlier build, only what an input changed for is rendered again,
// and the result is the same to the byte.
package bundle
