// Package carry packs what the clusters of a type need of an environment into one file, and unpacks it on the other side of an air gap.
//
//	GitOps branch at its commit ─► assignments ─► sources ─► images, charts ─► Gather ─► Write ─► a file, signed
//	                                                                                               │ carried
//	Git repositories, registry inside ◄─ Apply ◄─ nothing changed since, not older ◄─ Open ◄───────┘
//
// The file is called a bundle; package [github.com/kalypso-io/kalypso/internal/schedule/bundle] has the generated files of an environment,
// which travel in it as commits.
//
// # Format
//
// A bundle is a tar file without compression, in the format USTAR. Every program for OCI archives can read the images in it, and "git clone"
// the Git bundles:
//
//	bundle.json            a DSSE envelope around the [Manifest], which lists all other files with size and SHA-256
//	blobs/sha256/...       contents of images and charts
//	git/1.bundle ...       a Git bundle of each repository, with the whole history
//	index.json oci-layout  the image layout
//
// [Open] takes it from an untrusted medium. It reads the envelope first, and nothing else before its signature is verified. Then each
// file has to be the next one in the manifest, with its size and digest. No file is unpacked under a name from the bundle.
//
// # Order
//
// A bundle is complete: it can be applied to an empty site, and every bundle can be left out. [Applier.Apply] refuses one that is older
// than what the site has: a commit that is an ancestor of that of its branch, or a bundle made before the last one that was applied, which
// the branch [StateBranch] of the GitOps repository inside records. It checks all of this before it changes anything. Then it uploads images
// and charts, moves the branches of applications, records the bundle, and moves the GitOps branch last. Each step is repeatable, so an
// interrupted run is completed by the next one.
package carry
