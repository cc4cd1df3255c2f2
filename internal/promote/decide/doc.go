// Package decide decides how commits are promoted through a chain of environments, and explains why they wait.
//
// It is one pure function: [Decide] takes facts, such as the commit of every environment, and returns the next actions for each
// environment. It keeps no state. The results of a round are facts of the next round,
// so a round can be interrupted, repeated, or continued by another process.
//
// # Facts, and no records
//
// Everything is derived from facts each time: what clusters reported over time, when they were silent, which revision a branch had when, the
// results of measurements, approvals, and users' commands. What was recorded for people, such as that a commit was deployed, is not one of them.
// A [Carrier] is a revision that brought a commit to a place, with what the gate said meanwhile. From the carriers of a place follows the
// evidence for each commit: whether the gate, the checks and the approvals held together, and for how long the commit then ran, itself or in healthy
// descendants. The clock of that time runs while the gate holds, stands still while too few clusters are known, starts again when clusters are known to run
// something else, and ends with a failure.
//
// # The states of a commit
//
//	outside ─► proposed ─► applying ─► checking ─► awaiting ─► soaking ─► good
//	              │           │           │           │           │         │
//	          rejected        └───────────┴─ failed ──┴───────────┴─────────┴─► unproven, drifted ─► soaking
//	                                            │
//	                        takenBack ─► goingBack ─► soaking, good
//
// docs/reference/promotion.md has a table of them, with what leaves each.
//
// # The rules
//
//   - A commit is promoted only when it is good in all earlier environments: it proved itself and soaked there, and was taken back nowhere.
//   - A commit is promoted only if it is newer than every commit that the environment had. Going back requires a rollback or a request.
//   - A commit that is applied or measured is not overtaken. One that waits only for users is replaced, unless the rules say otherwise.
//   - A rollback goes to the newest good commit. All rings that go back go to the same source commit. What a user took back does not
//     return, and neither does what was merged on top of it by then.
//
// # Carrying out decisions
//
// Decisions contain actions as values. A flow carries them out in order and may stop after any of them.
// The same engine promotes the platform, whose commits are those of the control plane's main branch,
// and applications, whose commits are those of their source.
package decide
