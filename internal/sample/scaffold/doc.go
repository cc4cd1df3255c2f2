// Package scaffold has the repositories to start from that "kalypso init" writes: working examples, to be changed piece
// by piece, and the workflows that call kalypso commands in them.
//
//	examples/hello-fleet ─► ControlPlaneBranches ─┐
//	files/app, services  ─► SourceBranches        ├─► branches: content by path, not written yet
//	                        ConfigBranches        │
//	                        GitOpsBranches       ─┘
//	a repository ─► Detect ─► Kind ─► Forge.Workflows ─► files of its CI
//
// Nothing is written here: what comes back is content by path, for [git.Create] or for a work tree.
// What people type is checked before it gets into a document: [CheckURL] keeps credentials out of what is committed, and
// a workflow takes no name that would mean something to a shell.
package scaffold
