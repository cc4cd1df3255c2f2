// Package access authenticates clients and checks their roles.
//
//	request ─► bearer token ─► ledger: hash ─► token, or cluster ─┐
//	           JWT ──────────► keys of the issuer ────────────────┼─► Identity: name and role ─► May(required role)
//	           session ──────► another Authenticator ─────────────┤
//	           nothing ──────► reader, if that is allowed ────────┘
//	                                                               └─► its groups ─► Grants ─► Rule.Admit, Scope, Rule.Allow
//
// # Roles
//
//	reader       reads everything but tokens and the audit trail
//	operator     also promotes, pauses, resumes, aborts and rolls back
//	break-glass  also overrides rules in an emergency, with a reason and an audit entry of its own
//	admin        also manages clusters and tokens, and reads the audit trail
//	cluster      reports about itself, and pulls from the embedded registry
//	join         registers a new cluster, and nothing else
//
// Each of the first four includes those before it. Cluster and join are separate: their tokens are on other machines,
// so a stolen one allows nothing else.
//
// # Roles in workspaces
//
// A [Grant] gives the members of groups, or a token, a role in workspaces, for all environments or some:
//
//	reader       reads what belongs to the workspaces
//	approver     also approves what verifications of their applications wait for
//	operator     also steers their applications, and records builds
//	break-glass  also overrides rules for them in an emergency
//
// A [Rule] says what each operation, page and tool requires, and decides in two steps. [Rule.Admit] lets a client in that has a role of the
// server or, if the rule is scoped, a grant. What such a client is answered is computed from what its [Scope] sees, so that everything
// else does not exist for it. [Rule.Allow] decides about the place of what the client wants to change. Both are pure, and what has no rule
// is forbidden.
//
// Grants are read for each request, so a changed one takes effect with the next request, also in sessions and streams.
//
// # Tokens
//
// A token is "kal_", a letter for its role, "_", and 58 characters of 256 random bits with a checksum:
//
//	kal_o_mzxw6ytboi5gc43tob...
//
// Secret scanners can find it by "kal_[robacjs]_[a-z2-7]{58}". The checksum detects mistyped tokens without a
// request to the ledger, which has only the SHA-256 of tokens.
//
// A revoked token is rejected immediately on the server that revoked it, and within [Freshness] on others.
//
// # Proxies
//
// Addresses are those of connections. A request with headers of a proxy is never local; otherwise, these headers are ignored.
package access
