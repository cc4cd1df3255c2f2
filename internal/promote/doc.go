// Package promote moves commits along a chain of environments: it gathers facts, asks package promotion what follows
// from them, and carries that out.
//
//	what moves ─► Pipeline.Read ─► Reading ┐                                   ┌─► Pipeline.Move, Withdraw, SetStatus
//	ledger     ─► steps, words of people ──┼─► promotion.Decide ─► Decisions ──┼─► Checks.Run
//	           ─► clusters, reconcilers ───┘   (what, and why)                 └─► ledger: what happened, and why it waits
//
// A [Pipeline] is what moves: the commits of a control plane's main branch ([Platform]), or those of an application.
// A [Promoter] takes any of them one round further. Nothing is remembered between two rounds but Git, the forge and the
// ledger, so a round may be killed after any step and run again, by another process as well.
//
// What people say, by [Control], are steps in the ledger too: each server sees them.
package promote
