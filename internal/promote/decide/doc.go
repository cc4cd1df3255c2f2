// Package decide decides how commits are promoted through a chain of environments, and explains why they wait.
//
// It is one pure function: [Decide] takes facts, such as the commit of every environment, and returns the next actions for each
// environment. It keeps no state. The results of a round are facts of the next round,
// so a round can be interrupted, repeated, or continued by another process.
//
// # The phases of a commit
//
//	candidate ◄── a newer one that is ready takes its place
//	    │
//	    │ after, soak, pause, windows, approval; and nothing here is being rolled out
//	    ▼
//	promoted ───► proposed ───► deploying ───► verifying ───► deployed
//	    │            │              │  │            │             │
//	    └──────┬─────┘              │  └────────────┴──────┬──────┘
//	           ▼                    ▼                      ▼
//	        refused              no clusters            failed ───► rollback proposed
//
//	aborted: from any phase, when a user aborts the commit
//
// The candidate is the newest commit that has run in all earlier environments for as long as the rules require.
// A newer commit that is ready replaces it until it is promoted. A promoted commit is rolled out completely:
// nothing overtakes it between promoted and verifying. The next commit is promoted when it is deployed, failed, refused or
// aborted. In phase NoClusters, no cluster is expected, so the commit can never be deployed and can be replaced.
// A deployed commit stays deployed. Only a failure changes that, and recovery of the cluster reverts it.
//
// # The history
//
// Every commit that is promoted (started), deployed or failed in an environment is recorded as a [Step]. An environment
// moves on only after the last step of its commit is recorded. This guarantees three rules, even if a round is interrupted
// between two actions:
//
//   - A commit is promoted only after it was deployed in all earlier environments.
//   - A commit is promoted only if it is newer than every commit that was ever promoted to the environment. So a commit that was
//     rolled back does not return by itself, and after a failure the fix is promoted instead of the failed commit.
//     Going back requires a rollback or a request.
//   - A rollback restores a commit that was deployed in the environment and has not failed since.
//
// # Carrying out decisions
//
// Decisions contain actions as values. A flow carries them out in order and may stop after any of them.
// The same engine promotes the platform, whose commits are those of the control plane's main branch,
// and applications, whose commits are those of their source.
package decide
