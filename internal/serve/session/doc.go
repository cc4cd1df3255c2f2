// Package session signs users in to the pages, with a token or an OpenID Connect issuer, and out.
//
//	GET  /-/sign-in        form ─► POST: token ──────────► Guard ─┐
//	                       link ─► /-/sign-on ─► issuer           ├─► sealed cookie ─► Authenticate, as one of Guard.Others
//	GET  /-/sign-on/done   code, state, nonce, PKCE ─► SignOn ────┘
//	POST /-/sign-out       ─► the cookie is deleted, and its session ended
//
// # Sessions
//
// A session is stored in its cookie only, encrypted and authenticated with a key in the data folder. So it survives a restart, and
// works on every server with the same key. It contains 256 random bits, its ID, and
//
//	for a token      the hash of the token: the Guard checks it again, so the session ends with the token,
//	                 and has the token's current role
//	for an issuer    name and role at sign-in; such sessions are short, because groups are not checked again,
//	                 and end when the configuration of the issuer changes
//
// A session ends [Idle] after the user last loaded a page, and at the latest [Longest], or [LongestSignOn], after it began.
// Signing out ends all copies of its cookie: immediately on this server, and within seconds on other servers with the same ledger,
// which stores a hash of the session's ID.
//
// A request with an invalid session is anonymous.
//
// # Forms
//
// Pages of other sites must not send requests on behalf of users. Every form has a token derived from the session's ID, see
// [Sessions.FormToken]; requests from other sites, according to the browser, are refused as well. The sign-in form has a token
// bound to a cookie of its own, so that another site cannot sign users in under another name.
//
// After signing in, the browser returns to the previous page, which is always a path of this server.
package session
