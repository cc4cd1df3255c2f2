// Package kstatus compares the agent's rules for the state of Kubernetes objects with kstatus, whose rules Flux and most other tools share.
//
// It is a module of its own, so that the program does not depend on what only its judge needs. The table in testdata has one object for each
// rule, and the generated objects have random fields of those that either side reads. Where the agent is stricter than kstatus, the
// table and [stricter] have the reason.
package kstatus
