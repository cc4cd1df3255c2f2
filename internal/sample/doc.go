// Package sample is the tutorial on one machine: the repositories of its two teams, and the clusters that follow them.
//
//	Repositories(site) ─► Publisher ─► forge: the local one, or one that there is
//	Clusters(site) ─► simulation: two clusters of type drone with Flux, one large with Argo CD
//	Folder ─► what a sample has on this machine, and nothing else
//	Control ◄─ Remote: commands of people, to the process that runs a sample
//
// Real clusters can take the place of simulated ones; package install has what is put on them.
//
// It has no server of its own: whoever starts a sample runs the same server as anybody else.
//
// # Continuing
//
// Everything that is made may be there already, because somebody killed the process that made it: publishing leaves alone what
// exists, clusters keep the credentials that they have, and the [Folder] says what a sample is before any of it is made.
//
// # Removing
//
// [Folder.Remove] knows by name what is in a folder, and leaves everything else where it is. What is made elsewhere has the
// mark of the sample from its first moment on, and only what has it is removed: see [State.Mark] and [Unpublish].
package sample
