// Package local is the forge that the server brings along: the default where there is no account anywhere.
//
//	<dir>/repos/<owner>/<name>.git   bare repositories, which any git program can read
//	<dir>/forge.db                   changes, statuses, labels, comments, issues, tokens: SQLite
//
// One [Forge] serves both: to programs as [forge.Forge], to git over smart HTTP, and to people as pages, the last two by
// [Forge.Handler].
//
// # Who may do what
//
// An [Account] has a name and a [Right], in all repositories or below a path. Code in the process acts as an account of
// its choice, see [Forge.As]; everybody else shows a token, see [Forge.CreateToken].
//
// A push by an administrator to a repository that does not exist creates it.
//
// # What is true
//
// Branches are the truth about commits, the database about everything else. Pushes and merges are followed by the same
// level-triggered step, which derives from the branches what can be derived. It also runs at the start, and as [Forge.Sync]
// for those who move branches in the folder themselves:
//
//	head branch moved          the pull request has the new head; approvals and waiting merges of the old one are void
//	head branch back at base   the pull request is closed: nothing is left of it
//	head branch deleted        the pull request keeps its last head, at refs/pull/<number>/head
//	base contains the head     the pull request is merged
//	base has the merge commit  the pull request is merged, by whom was written down before the branch moved
//	base branch deleted        the pull request stays open and cannot be merged
//
// All that writes to a repository does so one after the other. A push is received into a file before its turn comes,
// so that nobody waits for a slow client.
package local
