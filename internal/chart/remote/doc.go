// Package remote fetches Helm charts, with all that they depend on, as files in memory.
//
//	folder of a Git tree ─► Local ──┐                       ┌─ https://  index.yaml, archive
//	                                ├─► dependencies ─► Fetch ─ oci://   tags, manifest, layer
//	chart of a repository ─► Fetch ─┘                       └─ cache     archives by digest
//
// # Versions
//
// A version is exact, or a range of which the newest is taken, as Chart.yaml and Chart.lock have them. An exact version
// that was fetched before is taken from the cache without asking again, so that it stays what it was; a range is resolved
// each time. When a repository does not answer, what was resolved last is used, and a notice says so.
//
// # Limits
//
// Repositories are hostile: indexes, archives and what comes out of archives are bounded before they are in memory;
// links, devices and paths that leave the chart are refused; an archive has to have the digest that was announced.
//
// Credentials come from a callback, such as [DockerFile], and go to the host that they are for, and nowhere else; what hosts say of them is
// not repeated.
//
// The tags of container images are looked up in the same registries, by the same rules ([Client.Digest]).
package remote
