// Package ledger is the port to the history of a fleet: what should run where, what ran where, and who moved it there.
//
// # Terms
//
//	report        what a cluster reports about one of its reconcilers: source, revision and state
//	observation   a report with a time that was not reported before; observations are facts and are kept
//	heartbeat     the time of a cluster's last report; not a fact, the newest replaces the others
//	source        what a reconciler follows: repository, branch or tag, and path
//	outcome       the content of an observation: source, revision, state and message; thousands of clusters share one
//	silence       a time in which a cluster was not heard for longer than it should be; a fact
//	clock         how far a cluster's clock is off, from a time on
//	registration  a cluster's environments and cluster types, labels and credential, from a time on
//	commit        a commit of a GitOps repository with its assignments, or its versions of workloads; one of a ring has the commit
//	              that it was derived from instead
//	step          one entry in the history of a promotion, with the reason and who did it
//
// # Time
//
// Facts have two times: when something was observed, and when it was received. The first orders them:
// the newest observation wins, not the last to arrive, so that late, repeated and reordered reports
// lead to the same state as ordered ones. Of two observations at the same time, the less favourable wins.
// Reports about unknown clusters, repositories and commits are kept. They count as soon as the missing part is recorded,
// because queries join the two.
//
// A reporter that repeats a report repeats the time at which it first observed the outcome; the repetition changes nothing.
// A reporter may also repeat an outcome with a new time. That only confirms the state: after an hour, all such observations
// but the last are deleted. If an older observation of another outcome arrives after that, the ledger may show
// that the state resumed later than it did. The current state is correct in any case.
//
// # Retention
//
// Decisions about promotion are made from facts, and may ask for those of a commit for as long as it is a place's commit or can be returned
// to, however long ago it came. So these are kept whatever the retention is: the outcome in force of each reconciler; everything since it
// began the last [KeptRevisions] revisions, which covers the present commit of a place, its soak and the commits to return to; and the
// silences of each cluster since the oldest of its observations. What only confirms the state before says nothing else, and is deleted.
//
// # Shape
//
// A [Ledger] is the sum of small interfaces; callers declare the part they need. [Backuper] and [Pinger] are optional.
// All writes are idempotent. Text is stored unchanged; callers limit its length and write each repository in one spelling.
// Package ledgertest has the rules as tests, which every adapter passes.
package ledger
