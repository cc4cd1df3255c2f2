// Package wiring connects a server to the world: forges, Git, the ledger, the embedded forge, the API, the pages and sessions.
//
// It is the only place that wires a server; "kalypso serve" and "kalypso sample" run what [New] returns.
// The work itself is in the rooms that it connects:
//
//	serve    when something is done: rounds, queue, webhooks
//	plane    what is done for each control plane
//
// [Flows], chains and deliveries run planes for the keeper, trace them, tell clients, and store results for other
// replicas.
package wiring
