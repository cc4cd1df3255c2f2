// Package repository lets flows read and write repositories.
//
// Flows declare what they need of Git, each in its own words, and package git knows none of them. This package is between
// the two, so that what a branch, a commit or a missing repository means is said once:
//
//	scheduling, delivery ◄── Reader, DeliveryReader ──┐
//	promoting            ◄── Lines, Ancestry        ──┤
//	recording            ◄── GitOpsBranches         ──┼── git.Client ── repositories
//	whatever writes      ◄── Committer,             ──┘
//	                         PromotionCommitter
//	delivery             ◄── Charts ── chartrepo.Client ── repositories of charts
//
// A [Reader] is for one round or one command: it resolves each branch once, so that everything that is read of a branch
// is of the same commit. The next round makes a new one.
package repository
