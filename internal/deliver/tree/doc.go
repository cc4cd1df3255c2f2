// Package tree turns the rendered targets of a workload into the files of its GitOps branch of an environment.
//
//	<path>/<folder>/manifests.yaml              what reconcilers apply
//	<path>/<folder>/kustomization.yaml          names it
//	<path>/.kalypso/<target>/descriptor.yaml    which version this is: a DeploymentDescriptor
//	<path>/.kalypso/<target>/values.yaml        the composed values, with their places
//	<path>/.kalypso/deliveries/<workload>.json  the inventory: what was written, and for which targets
//	.github/tracking/Promoted_Commit_Id         the commit of the source; Version and Image_tag beside it
//
// Nothing but what is to be applied lies in a target's folder, because reconcilers apply all of it.
//
// It is for applications what package bundle is for the platform, and shares its files, hashes and changes: [Build] is a
// pure function of what was rendered and of what the branch holds ([Published]). A target that could not be rendered is
// held, and keeps its files. What the inventory lists and nobody wants is removed; anything else is left alone.
// On a branch without inventory, gen_manifests.yaml of the original scheduler's pipelines is adopted and replaced.
package tree
