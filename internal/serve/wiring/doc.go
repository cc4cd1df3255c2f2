// Package wiring connects a server to the world: forges, Git, the ledger, the embedded forge, the API, the pages and sessions.
//
// It is the only place that wires a server; "kalypso serve" and "kalypso sample" run what [New] returns.
// [Flows] is the server's access to repositories and forges. The rest of the work is in the rooms that it connects:
//
//	serve    when something is done: rounds, queue, webhooks
//	Flows    schedules environments, and previews pull requests of a control plane
//	chains   records GitOps branches, and promotes commits along chains of environments
//	deliveries  renders, proposes and promotes the registered applications
package wiring
