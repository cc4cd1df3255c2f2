// Package session lets browsers show who they are: with a cookie that somebody got for a token, or from an OpenID Connect
// issuer.
//
//	GET  /-/sign-in        form ─► POST: token ──────────► Guard ─┐
//	                       link ─► /-/sign-on ─► issuer           ├─► sealed cookie ─► Authenticate, as one of Guard.Others
//	GET  /-/sign-on/done   code, state, nonce, PKCE ─► SignOn ────┘
//	POST /-/sign-out       ─► no cookie, and its session is over
//
// # The cookie is the session
//
// Nobody keeps a list of sessions: the cookie has it, encrypted and authenticated with a key of the data folder. So a
// session survives a restart, and every server that has the same key takes it. In it are 256 random bits, which name it, and
//
//	of a token      the hash of the token: the Guard asks the ledger again, so the session ends with the token,
//	                and may do what the token may do now, not when it began
//	of an issuer    name and role, as the issuer and the configuration said; it is short, since groups are not asked
//	                for again, and it ends when the configuration of the issuer changes
//
// A session ends [Idle] after somebody last loaded a page, and in any case [Longest], or [LongestSignOn], after it began.
// Signing out ends it at once on the server that is told, with all copies of its cookie, and within seconds on all others
// on the same ledger, which knows sessions that were signed out by a hash of their name. Revoking the token ends it, too.
//
// What is no valid session counts as none: whoever may read without signing in still may.
//
// # Forms
//
// Other sites' pages must not act in the name of whoever looks at them. Every form has a text that follows from the name of
// its session and that nobody else knows, see [Sessions.FormToken]; requests that a browser says come from elsewhere are
// refused beside that. The form to sign in has one, too, bound to a cookie of its own, so that nobody is signed in as
// somebody else without noticing.
//
// After signing in a browser goes to where it came from, and that is always a path of this server.
package session
