// Package external asks external schedulers and extenders: programs, HTTP endpoints, and PlacementDecisions of other systems.
//
//	placement.Questions ─► Request ─► recorded answer of the same question? ── yes ─► it is used, nobody is asked
//	                                   └─ no ─► Scheduler.Ask ─► checked as a whole ─► recorded with the files
//
// A decision has to be a function of commits. So an answer is recorded on the GitOps branch, with the digest of its question,
// and used as long as the question stays the same. Whatever a scheduler would answer the next time does not matter.
//
// A scheduler that does not answer, or not by the rules, holds the policies that ask it: what is published stays, and other
// policies are not affected. Each scheduler has its own time limit and its own workers, so that a slow one delays nobody else.
package external
