package simulation

import "github.com/kalypso-io/kalypso/internal/git"

// Sources reads repositories for all clusters: a head is looked up once for those who ask at about the same time,
// and a folder is read once for each commit. It is safe for concurrent use.
type Sources struct {
	// Client opens repositories; its Map can lead the addresses in manifests elsewhere. // required
	Client *git.Client
}
