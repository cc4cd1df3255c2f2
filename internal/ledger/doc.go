// Package ledger is the port to the memory of a fleet: what should run where, what ran where, and who moved it there.
//
// # Words
//
//	report        what a cluster says about one of its reconcilers: it follows this source, and is at this revision in this state
//	observation   a report of a time that was not reported yet; observations are facts, and stay
//	heartbeat     when a cluster was last heard of; not a fact, the newest replaces the others
//	source        what a reconciler follows: repository, branch or tag, and path
//	outcome       what an observation says: source, revision, state and message. Thousands of clusters share one
//	clock         how wrong the clock of a cluster is, from a time of it on
//	registration  what a cluster is from then on: its environments and cluster types, labels, credential
//	commit        a commit of a GitOps repository, with what it wants: assignments, or versions of workloads
//	step          one thing that happened in a promotion, with the reason and who did it
//
// # Time
//
// Facts have two times: when something was observed, and when we heard of it. The first orders them:
// the newest observation wins, never the newest arrival, so that late, repeated and reordered reports
// lead to the same state as ordered ones. Of two observations at one instant the less favourable wins.
// Reports of clusters, repositories and commits that nobody knows are kept;
// they count as soon as the missing half is recorded, since the two are joined only when somebody asks.
//
// A reporter that repeats itself repeats the time at which it first observed what it says, and a report that repeats a known
// one is nothing new. One that stamps each repetition anew is understood as well: its repetitions only confirm, and are
// forgotten after an hour, but for the last one. Only when something that happened before that is reported after that,
// the state counts as resumed later than it really was; what it is now is right in any case.
//
// # Shape
//
// A [Ledger] is the sum of small interfaces; callers declare the part they need. [Backuper] is an ability of some.
// Everything may be repeated: what is recorded already is recorded once. Text is stored as it is, and limits are the
// caller's work. Names of repositories are compared as text: callers write one repository in one way.
// Package ledgertest states all rules as tests, which every adapter passes.
package ledger
