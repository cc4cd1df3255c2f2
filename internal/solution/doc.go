// Package solution defines solution versions: what a merged commit rendered for an environment of an application, or of the
// platform, as one immutable artifact.
//
//	source, configuration, GitOps commit ─► manifests, values, schema ─► content ─┐
//	checks, targets, renderer ──────────────────────────► descriptor (digest) ────┴─► OCI artifact: tags, attestation
//
// A [Version] has files and a [Descriptor]. The files are those of the GitOps branch: a folder with manifests for each target,
// and in .kalypso the composed values with their origins. The descriptor names the commits that the files were made from,
// and the digest of the files. Git stays the truth: everything in a version can be rebuilt from these commits, and
// [Compare] tells what differs.
//
// # Digests
//
// The same inputs make the same version. Its identity is the digest of the descriptor, which has no time but that of the merged commit.
// The descriptor has the digest of the content ([ContentDigest]), which depends on paths and bytes only.
// The digest of the artifact's manifest also covers the layer as it was compressed, and compressors of different Go releases can write different
// bytes for the same files. Versions are therefore compared by their descriptors and files, never by the digest of a layer.
//
// # Artifact
//
// The artifact is an image manifest of OCI 1.1 with the descriptor as its configuration and one layer, a compressed tar file. This is
// what Flux's OCIRepository and Argo CD read as it is, so that a target is a path in the artifact.
//
// # Reading
//
// An artifact is input from anyone who can write to a registry. [ReadManifest] and [Open] check digests, sizes, counts and
// paths before they return anything, and accept only what [Version.Artifact] can write: no links, no paths out of the folder, no files that
// the descriptor's digest does not cover.
package solution
