// Package health compares the agent's states of custom resources with examples that others have labelled by hand: those of Argo CD's health checks, more
// than a thousand objects of more than two hundred kinds.
//
// The agent has no rules for these kinds: it reads words in conditions and phases. Half of the kinds, chosen by a hash of their names, are the measure.
// Whoever changes the words looks at the other half only.
//
// It is a module of its own. The examples are files of Argo CD's module, which the test downloads in a fixed version, with its checksum.
package health
