// Package client calls the API of a Kalypso server. Commands, agents and simulated clusters use it.
//
//	Ask, Tell ─► one request ─► answer ─► a value or a [Refusal]
//	                 ▲             │
//	                 └── retries ──┘ server busy, restarting, or connection lost
//	Send      ─► a batch of reports, one attempt
//	Events    ─► a stream that reconnects when it ends
//
// The types of questions, bodies and answers are those of the server, in package serve/api and hub/query: the tags of
// their fields say where they are in a request.
//
// # Trust
//
// The token is sent only to the configured server: a redirect to another origin is an error that names it.
// Answers are untrusted text. They are bounded in size, and what reaches an error is a single line without credentials,
// because errors end up on terminals and in logs.
//
// # Retries
//
// A busy server says when to come back, and a restarting server is back in a moment. Requests that only read are
// repeated in both cases, others only when the server says that it did not accept them. The context bounds all attempts.
package client
