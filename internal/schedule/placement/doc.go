// Package placement decides which deployment targets run on which cluster types, and why.
//
// A target is assigned to a cluster type when at least one policy selects both. Every pair of a target and a cluster type
// has a decision with a reason. The reasons for pairs that are not assigned are computed on request
// ([Decisions.Explain]), because a fleet has a million of them.
//
// # Cost
//
// Selectors are compiled once for a snapshot, and targets and cluster types are indexed by label and workspace.
// A policy checks only the objects that satisfy its most selective requirement, never all pairs.
// Cluster types that the same policies select share one list of targets: memory grows with
// the number of distinct lists, not with the number of pairs.
package placement
