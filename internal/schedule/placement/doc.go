// Package placement decides which deployment targets run on which cluster types, and why.
//
// A target is assigned to a cluster type when at least one policy selects both. The decision is a pipeline of three steps:
//
//	filter  which pairs are possible: the policies' selectors
//	score   how well a pair fits: plain label policies give every pair the same score
//	select  which of the possible pairs are taken: plain label policies take all of them
//
// Each step explains itself. Every pair of a target and a cluster type has a decision with a reason; the reasons of pairs
// that are not assigned are computed when somebody asks ([Decisions.Explain]), because a fleet has a million of them.
//
// # Cost
//
// Selectors are compiled once for a snapshot, and targets and cluster types are indexed by label and workspace.
// A policy looks only at the objects that its most selective requirement names, never at all pairs.
// What runs on a cluster type depends only on which policies select it, so cluster types
// that the same policies select share one list of targets: the decisions of a fleet
// take memory for the lists that differ, not for the pairs.
package placement
