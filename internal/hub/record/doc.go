// Package record writes into the ledger what GitOps repositories want at each of their commits,
// and what happened to the changes of those repositories.
//
//	head of the branch ─► commits nobody recorded yet ─► what each wants ─► ledger, from old to new
//	                      (along first parents)          platform: assignments, from the inventories
//	                                                     application: versions, from deployment descriptors
//	changes of the forge ─► opened, updated, merged, closed ─► ledger
//
// # Pure
//
// What a commit wants is a function of its files, and of those before it where one of them cannot be read: such a file
// counts as it was when it could be read last. So it does not matter who records a commit, when, and after how many
// interruptions. A commit that is recorded already stays as it is.
//
// # History
//
// Branches may be rewritten. What was recorded stays recorded, since clusters ran it; the new head becomes the head,
// and the outcome says what happened. A branch that is gone keeps what is recorded of it.
//
// # Which branches
//
// The platform branch of an environment, and the branches that its deployment targets get their manifests from: see
// [Branches]. Clusters may follow others as well, see [Followed]. Neither what a cluster reports nor what a workload says is
// trusted: only repositories on [Hosts] that people configured, or that the platform team's documents name, are read.
// Otherwise either could make the server send requests to wherever it likes.
//
// Environments may share a branch. What all of them have on it is recorded at once; the branch is of no environment then,
// and each assignment and version says whose it is. Where only one has its files on a branch, the branch is of that one, by
// the name that it is asked for under: an environment that was renamed keeps its branch.
package record
