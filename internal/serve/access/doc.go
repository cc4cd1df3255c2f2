// Package access authenticates clients and checks their roles.
//
//	request ─► bearer token ─► ledger: hash ─► token, or cluster ─┐
//	           JWT ──────────► keys of the issuer ────────────────┼─► Identity: name and role ─► May(required role)
//	           session ──────► another Authenticator ─────────────┤
//	           nothing ──────► reader, if that is allowed ────────┘
//
// # Roles
//
//	reader     reads everything but tokens and the audit trail
//	operator   also promotes, pauses, resumes, aborts and rolls back
//	admin      also manages clusters and tokens, and reads the audit trail
//	cluster    reports about itself, and nothing else
//	join       registers a new cluster, and nothing else
//
// Each of the first three includes those before it. Cluster and join are separate: their tokens are on other machines,
// so a stolen one allows nothing else.
//
// # Tokens
//
// A token is "kal_", a letter for its role, "_", and 58 characters of 256 random bits with a checksum:
//
//	kal_o_mzxw6ytboi5gc43tob...
//
// Secret scanners can find it by "kal_[roacj]_[a-z2-7]{58}". The checksum detects mistyped tokens without a request to the ledger,
// which has only the SHA-256 of tokens.
//
// A revoked token is rejected immediately on the server that revoked it, and within [Freshness] on others.
//
// # Proxies
//
// Addresses are those of connections. A request with headers of a proxy is never local; otherwise, these headers are ignored.
package access
