// Package sample runs the tutorial on one machine: the repositories of its two teams, and the clusters that follow them.
//
//	Repositories(site) ─► Publisher ─► forge: the embedded one, or an existing one
//	Clusters(site) ─► simulation: two clusters of type drone with Flux, one large with Argo CD
//	Folder ─► the files of a sample on this machine
//	Control ◄─ Remote: commands to the process that runs a sample
//
// Real clusters can replace simulated ones; package install has what is installed on them.
//
// It has no server of its own: the server of a sample is the one of "kalypso serve".
//
// # Continuing
//
// A sample can be killed at any point and started again: publishing keeps what
// exists, clusters keep their credentials, and the [Folder] describes a sample before any of it is created.
//
// # Removing
//
// [Folder.Remove] deletes files by name, and nothing else. What is created elsewhere carries the
// mark of the sample from the start, and only what has it is removed: see [State.Mark] and [Unpublish].
package sample
