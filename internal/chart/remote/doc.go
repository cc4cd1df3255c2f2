// Package remote fetches Helm charts, with all their dependencies, as files in memory.
//
//	folder of a Git tree ─► Local ──┐                       ┌─ https://  index.yaml, archive
//	                                ├─► dependencies ─► Fetch ─ oci://   tags, manifest, layer
//	chart of a repository ─► Fetch ─┘                       └─ cache     archives by digest
//
// # Versions
//
// A version is exact, or a range, of which the newest version is used. An exact version
// that was fetched before comes from the cache without a request, so that it cannot change; a range is resolved
// each time. If a repository does not respond, the last resolved version is used, with a notice.
//
// # Limits
//
// Repositories are untrusted: indexes, archives and their contents are bounded before they are in memory;
// links, devices and paths that leave the chart are refused; an archive must have the announced digest.
//
// Credentials come from a callback, such as [DockerFile], and are sent only to their host. They are removed from
// error messages.
//
// Tags of container images are resolved in the same way ([Client.Digest]).
package remote
