// Package recipe says how the Secrets of a target are made in its cluster: values that a chart would make up with random functions.
//
//	chart ──► Recipe, without any value ──► manifests, in Git ──► Job in the cluster: Make ──► Secrets
//
// A [Recipe] has the keys of each Secret, as texts of the chart and [Draw]s. [Recipe.Make] compares it with the Secrets that exist, and
// returns those to write. Values that exist are kept: a made-up value changes with its rotation only. Values that belong to each other, such as
// a password and its hash, are made together or not at all.
//
// The package reads neither a cluster nor the clock, and its randomness is an argument.
package recipe
