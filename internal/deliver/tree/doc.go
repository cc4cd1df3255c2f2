// Package tree turns a workload's rendered targets into the files of an environment's GitOps branch.
//
//	<path>/<folder>/manifests.yaml              what reconcilers apply
//	<path>/<folder>/kustomization.yaml          lists it
//	<path>/.kalypso/<target>/descriptor.yaml    the version: a DeploymentDescriptor
//	<path>/.kalypso/<target>/values.yaml        the composed values, with their origins
//	<path>/.kalypso/deliveries/<workload>.json  the inventory: what was written, and for which targets
//	.github/tracking/Promoted_Commit_Id         the commit of the source; Version and Image_tag are next to it
//
// A target's folder contains only what is to be applied, because reconcilers apply all of it.
//
// The package is the counterpart for applications of the platform's package bundle, and shares its files, hashes and
// changes: [Build] is a pure function of what was rendered and what the branch holds ([Published]). A target that
// could not be rendered is held, and keeps its files. Files in the inventory that are no longer wanted are removed;
// all others are left alone. On a branch without inventory, the gen_manifests.yaml files of the original scheduler's
// pipelines are adopted and replaced.
package tree
