// Package query answers the questions that people have about a fleet: what runs where, since when, and why
// something waits.
//
//	the ledger: what clusters, branches and promotions were at any time ┐
//	                                                                    ├─ Observer ─► answers
//	the fleet: how things stood after the last rounds (may be missing)  ┘
//
// Every question is a method of [Observer] with a query, and every answer is a value whose JSON is what the API, the
// commands and the pages show: there is one definition of each.
//
// # Two sources
//
// The rounds of a server read Git and the forge, so they know what the ledger does not: which commit is the newer one,
// what waits for whom, what is held, which target is assigned to what and by which policy, and how applications are
// delivered. What they knew last is the [Fleet]. Without one, as on the file of a ledger, and for every question about the
// past, answers are what the ledger alone knows: commits with what they want, memberships, observations and steps. Then a
// cluster reached the head of a branch when it runs just that: which of two other commits is the newer one, only Git knows.
// And nobody was offline in the past, since only now is it known who was heard of last.
//
// Environments of the platform and of applications have the same names. Whose step of the ledger is meant, its subject tells:
// see [Moves].
//
// # Answers
//
// Lists are sorted, come in pages, and never hold more than [MaxLimit] items. The place where the next page begins is
// the name of the last item, so that pages stay right while items come and go. Times are in UTC. A name that
// nobody knows is an [UnknownError] with those that look like it; it is [ledger.ErrNotFound]. A query that makes no
// sense is [ledger.ErrInvalid]. All other errors are the ledger's own.
package query
