// Package decide decides how commits walk through a chain of environments, and says why they wait.
//
// It is one pure function over facts: [Decide] looks at where every commit is and returns for each environment what is to
// be done next. Nothing is remembered between two rounds. What one round did is a fact of the next,
// so it does not matter when a round is cut off, repeated, or run by another process.
//
// # How a commit goes through an environment
//
//	candidate ◄── a newer one that is ready takes its place
//	    │
//	    │ after, soak, pause, windows, approval; and nothing here is being rolled out
//	    ▼
//	promoted ───► proposed ───► deploying ───► verifying ───► deployed
//	    │            │              │  │            │             │
//	    └──────┬─────┘              │  └────────────┴──────┬──────┘
//	           ▼                    ▼                      ▼
//	        refused              nobody                 failed ───► rollback proposed
//
//	aborted: from everywhere, when a person gives the commit up
//
// A candidate is the newest commit that ran in all environments before this one, for as long as this one wants.
// Until it enters, a newer one that is ready takes its place. Once the environment names a commit, that commit is rolled out:
// nothing overtakes it between promoted and verifying. The next one enters when it is deployed, failed, refused or aborted,
// or where nobody is: without any cluster that is expected it never arrives, and nothing is overtaken when it is replaced.
// What arrived has arrived. Only a failure takes that back, and a cluster that is well again gives it back.
//
// # What is on record
//
// Every commit that entered, arrived or failed in an environment is a [Step] of its history, and an environment moves on only
// after the step of what it leaves is on record. Three rules hang on that, also when a round is cut off between any two actions:
//
//   - A commit enters only after it arrived in all environments before.
//   - It enters only when it is newer than everything that ever entered. So what was rolled back does not come back by itself,
//     and after a failure the fix goes on, not the commit that failed. Going back takes a rollback or an order.
//   - A rollback goes to a commit that arrived here and did not fail since.
//
// # Who acts
//
// Decisions hold actions as values; a flow carries them out in their order and may stop after any of them.
// The same engine serves the platform, whose commits are those of the control plane's main branch,
// and applications, whose commits are those of their source. It does not know which.
package decide
