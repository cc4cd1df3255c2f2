// Package mergetree merges commits in a Git object database, without a work tree and without the git program.
//
//	Base(a, b)                 the best common ancestor
//	Contains(commit, other)    whether other is the commit or one of its ancestors
//	Merge(base, ours, theirs)  the tree that has what both sides changed, or a [ConflictError]
//
// # Rules
//
// What only one side changed is as that side has it, and what both changed alike is so. Texts that both changed are
// merged line by line; changes that overlap or touch are a conflict, as is everything else that both changed.
// Renames are not looked for: a file that one side moved and the other edited is a conflict, never a guess.
// Folders that neither side or only one of them changed are not read, so that the size of a repository does not matter.
package mergetree
