// Package tour guides a user through six steps of the tutorial, on the pages of a sample's server: approve, release, change a value in one
// environment, change something everywhere, see a cluster fail, and repair it.
//
//	forge: pull requests of the tour ─┐
//	Git: inputs of published commits ─┼─► Tour.look ─► the step, and what is to do ─► page
//	ledger: who runs what ────────────┤                                              │
//	simulated clusters ───────────────┘         POST propose, merge, cluster ◄───────┘
//
// The tour has no state of its own, and no short cuts: an edit is a commit on a branch with a pull request, which the user merges as the
// account that signed in, and Kalypso schedules, promotes and waits as for any other. So a reload, another browser and a restarted sample
// continue at the same step, and what a user does in a terminal counts as well.
package tour
