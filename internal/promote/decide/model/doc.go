// Package model explores what decide does with a small world, in every order of events.
//
// It has no code of its own, only tests. Random simulations find faults that many sequences of events have. The faults that matter need
// a particular sequence of five or ten: a newer commit between a failed verification and the next round, a user's rollback between two
// rings. So a model starts from a small fleet, and takes every event that can happen in each state: a push, a tick of the clock, a
// cluster that follows, fails, falls silent or comes back, an answer of a verification, a user's command, and a round that is killed
// after any of its actions. States that were seen before are not continued, so that it ends when there are no new ones.
//
//	configuration ─► world ─┬─ events ────────────────────────────► worlds
//	                        └─ facts ─► decide.Decide ─► actions ──► worlds
//	                                                        │
//	                                       truth: what clusters ran, and for how long
//
// The world knows what decide cannot see. Its truth is kept beside the facts, tick by tick and without a history, and each action is
// judged by it: see truth in the tests. A fault is reported with the shortest sequence of events that leads to it.
//
// States are finite because time is. The clock has ticks, and nothing counts further than the longest soak.
// Faults and commands have budgets.
package model
