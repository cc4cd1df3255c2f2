// Package local is the embedded forge: the server's default, which needs no account elsewhere.
//
//	<dir>/repos/<owner>/<name>.git   bare repositories, readable by any git program
//	<dir>/forge.db                   pull requests, statuses, labels, comments, issues, tokens: SQLite
//
// One [Forge] serves both: to programs as [forge.Forge], to git over smart HTTP, and to browsers as pages. [Forge.Handler]
// serves the last two.
//
// # Permissions
//
// An [Account] has a name and a [Right], in all repositories or below a path. Code in the process acts as any account,
// see [Forge.As]; all other clients present a token, see [Forge.CreateToken].
//
// If an administrator pushes to a repository that does not exist, it is created.
//
// # Consistency
//
// Branches are authoritative for commits, the database for everything else. After pushes and merges, the same
// level-triggered step derives pull requests' states from the branches. It also runs at the start, and as [Forge.Sync]
// after other programs moved branches in the folder:
//
//	head branch moved          the pull request has the new head; approvals and waiting merges of the old one are void
//	head branch back at base   the pull request is closed: nothing is left of it
//	head branch deleted        the pull request keeps its last head, at refs/pull/<number>/head
//	base contains the head     the pull request is merged
//	base has the merge commit  the pull request is merged; who merged it was stored before the branch moved
//	base branch deleted        the pull request stays open and cannot be merged
//
// Writes to a repository run one at a time. A push is received into a file before it takes the lock,
// so a slow client does not block others.
package local
