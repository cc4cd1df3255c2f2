// Package scaffold has the starter repositories that "kalypso init" writes: working examples to be changed step
// by step, and the CI workflows that call kalypso in them.
//
//	examples/hello-fleet ─► ControlPlaneBranches ─┐
//	files/app, services  ─► SourceBranches        ├─► branches: content by path, not written yet
//	                        ConfigBranches        │
//	                        GitOpsBranches       ─┘
//	a repository ─► Detect ─► Kind ─► Forge.Workflows ─► files of its CI
//
// It writes nothing: it returns content by path, for [git.Create] or for a work tree.
// Input of users is checked before it gets into a document: [CheckURL] keeps credentials out of commits, and
// workflows take no name with characters that a shell interprets.
package scaffold
