// Package query answers queries about a fleet: what runs where, since when, and why something waits.
//
//	the ledger: what clusters, branches and promotions were at any time ┐
//	                                                                    ├─ Observer ─► answers
//	the fleet: what the last rounds found (optional)                    ┘
//
// Each query is a method of [Observer]. Each answer is a value that the API, the commands and the pages share; the
// API returns it as JSON.
//
// # Two sources
//
// A server's rounds read Git and the forge, and therefore know what the ledger does not: which of two commits is
// newer, what waits and why, what is held, which target is assigned where and by which policy, and how applications
// are delivered. Their latest results are the [Fleet]. Without it, as for a ledger file, and for all queries about
// the past, the ledger is the only source: commits with their contents, memberships, observations and steps. In that
// case a cluster has reached the head of a branch only if it runs exactly that commit, because only Git knows the
// order of commits. A cluster was offline in the past
// if the ledger has a silence at that time that is as long as the present rules of the environment say.
//
// Environments of the platform and of applications can have the same names.
// The subject of a step tells them apart; see [PromotionKind].
//
// # Answers
//
// Lists are sorted, paged, and have at most [MaxLimit] items. A page starts after the name of the previous page's
// last item, so that pages stay correct while items are added and removed. Times are in UTC. An unknown name is an
// [UnknownError] with similar names; it matches [ledger.ErrNotFound]. An invalid query is [ledger.ErrInvalid]. All
// other errors are the ledger's.
package query
