// Package comply says whether the clusters of an environment run a commit.
//
//	memberships of registered clusters ─► Expected ┐
//	what clusters observed ─────────────────────────┼─ Judge ─► Verdict: one result, and every expected
//	history of the branch, rules of the gate, now ──┘           reconciler with its state, reason and time
//
// Who is expected is listed first and counted then. Whoever does not report is therefore seen as missing,
// and a gate at which nobody is expected has a result of its own: it is not passed by nobody.
//
// # Time
//
// Three clocks meet here, and each is used for what it can be trusted with.
//
//   - The clock of a cluster orders that cluster's own observations: the newest observation of a reconciler counts,
//     never the one that arrived last. Clocks of different clusters are never compared with each other.
//   - The clock of the server says whether a cluster is offline: [Cluster.Heard] is when the server heard of it.
//     A cluster whose clock is an hour wrong is therefore neither offline nor green because of it.
//   - An observation from the future is as good as any other. Where its time is shown or compared with a time of the
//     server it counts as now.
//
// When a cluster's clock is set back, what it observes next looks older than what is known, for as long as the step was.
// Who takes in reports can avoid that: each batch says what time its sender believes it is,
// which gives the correction for the observations in it.
package comply
