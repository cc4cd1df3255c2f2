// Package embedded is the registry of the server: the API of https://github.com/opencontainers/distribution-spec over a folder.
//
//	request ─► Options.Admit: who, pull, push or delete
//	           ├─► upload: a file, within limits ─► digest verified ─► blobs/ ─┐
//	           ├─► manifest: its blobs are here, its tag is free ──────────────┴─► one transaction
//	           └─► blob or manifest, by digest or tag ─► the file
//
//	<dir>/blobs/<2 digits>/<sha256>   blobs, and manifests
//	<dir>/uploads/<id>                what is being received
//	<dir>/registry.db                 what refers to blobs: manifests, tags, subjects. SQLite
//
// A library, the registry of go-containerregistry, verifies and serves blobs. Its uploads and manifests are in memory, so both are kept here.
//
// # Tags
//
// Tags are immutable: a tag that names one manifest is refused for another. Only the tag of an environment moves, from a solution version of
// the application for this environment to another one. A version also takes the tag of its environment from anything else.
//
// # Deletion
//
//	DELETE by digest ─► Options.Admit ─► not what an environment's tag names, nor Options.Needed ─► manifest and its tags
//	cleaning: a manifest without tag and subject, for a week ─┘            └─► blobs that no manifest has ─► files
//
// # Crashes
//
// A file is complete and on the disk before the database refers to it, and a manifest with its tag is one transaction. What was being
// received is removed at the next start, and so are files that the database does not have. A blob without a manifest is removed after [unreferenced].
//
// # Untrusted input
//
// Names, digests and tags have the grammar of the specification before anything uses them. Blobs, manifests, uploads at the same time and
// all content together are limited. Only image manifests and indexes are accepted, whose blobs or manifests are here with the sizes that they say.
package embedded
