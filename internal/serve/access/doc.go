// Package access knows who is asking, and what they may do.
//
//	request ─► bearer token ─► ledger: hash ─► token, or cluster ─┐
//	           JWT ──────────► keys of the issuer ────────────────┼─► Identity: name and role ─► May(role needed)
//	           (session) ────► any other Authenticator ───────────┤
//	           nothing ──────► reader, where that is allowed ─────┘
//
// # Roles
//
//	reader     sees everything but tokens and the audit trail
//	operator   also moves commits: promotes, pauses, resumes, aborts, rolls back
//	admin      also manages clusters and tokens, and sees the audit trail
//	cluster    reports about itself, and nothing else
//	join       registers a new cluster, and nothing else
//
// The first three include each other in this order. Cluster and join stand apart: their tokens lie on machines that are
// not ours, so a stolen one opens nothing else.
//
// # Tokens
//
// A token is "kal_", a letter for its role, "_", and 58 characters of 256 random bits with a checksum:
//
//	kal_o_mzxw6ytboi5gc43tob...
//
// Programs that look for leaked secrets find it by "kal_[roacj]_[a-z2-7]{58}"; the checksum tells it from what only looks
// like one, and refuses mistyped ones without asking anybody. The ledger has the SHA-256 of a token, never the token.
//
// A token that is revoked stops at once on the server that was told so, and within [Freshness] on the others.
//
// # What is not believed
//
// Addresses are those of the connection. Headers in which proxies say where a request came from are only believed to the
// disadvantage of who asks: with one of them a request is never local.
package access
