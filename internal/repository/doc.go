// Package repository lets flows read and write repositories.
//
// Each flow declares its own interface to Git, and package git knows none of them. This package connects
// the two, and defines once what a branch, a commit or a missing repository means:
//
//	scheduling, delivery ◄── Reader, DeliveryReader ──┐
//	promotion            ◄── Lines, Ancestry        ──┤
//	recording            ◄── GitOpsBranches         ──┼── git.Client ── repositories
//	all that write       ◄── Committer,             ──┘
//	                         PromotionCommitter
//	delivery             ◄── Charts ── remote.Client ── chart repositories
//
// A [Chain] promotes the commits of a control plane where there is no server.
//
// A [Reader] serves one round or one command: it resolves each branch once, so that all reads of a branch
// see the same commit. The next round creates a new one.
package repository
