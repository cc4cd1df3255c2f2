// Package record writes commits of GitOps repositories with their content, and events of their pull requests, to the ledger.
//
//	head of the branch ─► commits not recorded yet ─► content ─► ledger, from old to new
//	                      (along first parents)       platform: assignments, from the inventories
//	                                                  application: versions, from deployment descriptors
//	pull requests of the forge ─► opened, updated, merged, closed ─► ledger
//
// # Content of a commit
//
// The content is a function of the commit's files. For an unreadable file, its last readable version in the history counts.
// So the result does not depend on who records a commit, when, and after how many interruptions.
// The content of a recorded commit does not change.
//
// # History
//
// After a force push, recorded commits stay, because clusters ran them; the new head becomes the head,
// and the outcome reports the rewrite. The commits of a deleted branch stay, too.
//
// # Branches
//
// An environment's platform branch and the branches with manifests of its deployment targets are recorded: see
// [Branches]. Clusters may follow others: see [Followed]. Reports of clusters and documents of workloads are not trusted:
// only repositories on configured [Hosts], or hosts in the platform team's documents, are read.
// Otherwise they could make the server send requests to any address.
//
// Environments may share a branch. Then the branch belongs to no environment,
// and each assignment and version names its own. A branch with files of one environment belongs to that environment, under
// its current name: a renamed environment keeps its branch.
package record
