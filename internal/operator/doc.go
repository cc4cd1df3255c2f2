// Package operator schedules control planes that are described by ControlPlane objects of a Kubernetes cluster.
//
//	ControlPlane ─► Secrets of its namespace ─► Tenant ─► a round for each environment ─► pull requests
//	                objects of its namespace ─┘                 │                      └─► status, events, Assignments
//	                                                            └─► promotion, by its ledger
//
// A round is that of "kalypso schedule --pull-request". After the rounds, if the ControlPlane has a ledger, commits are promoted as by "kalypso promote
// round", and applications are delivered. Then the open pull requests of the control plane are planned.
//
// The custom resources are a front door: everything that lasts is in Git, on the forge and in the ledger, so an operator can be killed at any time, and
// the next one continues. Several replicas elect a leader; the others wait. A leader that comes back late does no harm: pushes carry the commit that
// they replace, and concurrent rounds of promotion lead to the same state.
//
// # Tenants
//
// A namespace is a tenant. A ControlPlane reads Secrets and objects of its own namespace only, and its connections, caches and credentials
// are shared with no other object ([Tenants]). It opens https URLs, and of those only what the operator's configuration allows. Each round
// has a time limit, and a namespace has at most half of the workers, so a slow tenant does not keep the others waiting.
//
// # Absence is not intent
//
// Objects are read with one list for each kind. If one list fails, because a kind is not defined or a rule is missing in the operator's role, or if
// the namespace is being deleted, the round is not run, and the condition Ready says why. Deleting a ControlPlane removes nothing but its
// Assignment objects.
package operator
