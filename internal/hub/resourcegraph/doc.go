// Package resourcegraph reads what clusters report to Azure: the states of their Flux configurations, from Azure Resource Graph.
//
//	identity ─► token ─┐
//	                   ├─► Client.Read: pages ─► ParseConfiguration ─► Configuration.Reports ┐
//	subscriptions ─────┘                                                                     ├─► Assign ─► reports of clusters
//	                                       registered clusters, configured resource IDs ─────┘            and problems
//
// Clusters with the extension microsoft.flux need no agent for that. Azure says less than an agent:
//
//   - A Kustomization has applied the commit that its condition Ready names, and no other. The commit of the source is only what it may
//     try next: it is the revision of a failure that happened after the source had it, and never one that was reached.
//   - Health is known only if Flux checks it and says so.
//   - Only Kustomizations of a configuration have a source. What these create is listed with its state, and follows nothing known.
//   - The time of an observation is when the cluster sent the state to Azure, not when it was read here.
//
// Everything that is read is untrusted. An answer is limited in size, a part that is malformed is a problem and does not affect others, and
// an incomplete read gives no result. Credentials are sent to two configured hosts only: redirects are not followed.
package resourcegraph
