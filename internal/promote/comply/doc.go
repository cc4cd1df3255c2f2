// Package comply decides whether the clusters of an environment run a commit.
//
//	memberships of registered clusters ─► Expected ┐
//	what clusters observed ─────────────────────────┼─ Judge ─► Verdict: one result, and every expected
//	history of the branch, rules of the gate, now ──┘           reconciler with its state, reason and time
//
// Expected reconcilers are listed first and then counted. A cluster that does not report is therefore missing,
// and a gate without expected reconcilers has its own result instead of being passed.
//
// # Time
//
//   - A cluster's clock orders that cluster's observations: the newest observation of a reconciler counts,
//     not the last to arrive. Clocks of different clusters are never compared.
//   - The server's clock decides whether a cluster is offline: [Cluster.Heard] is a time of the server.
//     A cluster whose clock is an hour off is therefore neither offline nor ready because of it.
//   - An observation from the future counts like any other. Where its time is shown or compared with a time of the server,
//     it counts as now.
//
// Package hub/ingest corrects the times of clusters whose clocks are off.
package comply
