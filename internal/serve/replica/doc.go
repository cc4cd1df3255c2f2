// Package replica divides the work of a server among its replicas, by leases in the ledger that they share.
//
//	                  ┌─ renews its lease, and reads who lives ─► the units of each: rendezvous hashing
//	Member (one each) ┼─ claims a unit before the first work ───► a hold with a fencing number
//	                  └─ posts and reads notes ─────────────────► wakes and events of the others
//
// # What keeps two replicas from working on one unit
//
//   - A unit is worked on under a hold. The ledger gives it to one living replica at a time, and all its times are those of the database's
//     clock.
//   - A replica measures its lease from before it asked for it, so that its own deadline is never after the database's. At the deadline, the
//     contexts of its work end.
//   - A replica that was paused may wake up in the middle of a request. [Check] is called right before each write to a forge or a repository,
//     and reads the clock. What is late in spite of that is fenced where it arrives: the ledger refuses the number of an earlier hold,
//     Git refuses a push whose expected commit is not the branch's, and forges refuse a second pull request of a branch.
//
// # When a replica ends
//
// One that stops gives its lease back, and the others notice when they next renew theirs, within a quarter of a lease. One that is killed, paused
// or cut off from the database holds its units until its lease expires, [Lease] after its last renewal. A replica that lost its lease joins
// again under a new ID.
//
// A member also compares its units with the ledger from time to time: an answer may get lost, and a database may fail over to a copy without
// the last writes.
package replica
