// Package promote promotes commits along a chain of environments: it gathers facts, gets decisions from package decide,
// and carries them out.
//
//	what moves ─► Pipeline.Read ─► State ┐                                   ┌─► Pipeline.Move, Withdraw, SetStatus
//	ledger     ─► steps, commands of users ─┼─► decide.Decide ─► Decisions ──┼─► Checks.Run
//	           ─► clusters, reconcilers ───┘   (what, and why)                 └─► ledger: what happened, and why it waits
//
// A [Pipeline] defines what is promoted: the commits of a control plane's main branch ([Platform]), or those of an application.
// A [Promoter] runs the rounds of any pipeline. All state is in Git, on the forge and in the ledger, so a round can be killed
// after any step and repeated, also by another process.
//
// Reviews of pull requests on the forge are read from a [ReviewReader] while an approval is waited for, and recorded. Commands of users,
// accepted by [Control], are steps in the ledger too, so every server sees them.
package promote
