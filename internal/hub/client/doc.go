// Package client asks the API of a server, for commands that run elsewhere.
//
//	Get, Post ─► one request ─► answer ─► a value, or what the server says is wrong
//	                 ▲             │
//	                 └── retries ──┘ busy, restarting, or the line broke
//	Events    ─► a stream that connects again when it ends
//
// # Whom it trusts
//
// The token goes to the server that it was given for, and nowhere else: a redirect to another origin is an error that
// names it. What the server says is text of somebody else. Answers are bounded, and what reaches an error is on one line
// and without credentials, since errors end on terminals and in logs.
//
// # Patience
//
// A server that is busy says when to come back, and one that restarts is back in a moment. Requests that only read are
// tried again after both; others only when the server says that it did not take them.
// The context bounds all of it.
package client
