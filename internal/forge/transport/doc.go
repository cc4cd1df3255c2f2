// Package transport sends HTTP requests to a forge, with rate limits, retries and credentials. All adapters use it.
//
// One [Transport] serves all requests of a forge and a credential:
//
//	request ─► gate ─► credential ─► attempt ─► response
//	            ▲                       │
//	            └── rate limited ◄──────┤ 429, or a 403 that means it, or a success with that request: all requests wait
//	                                    ├ 409 because of a lock: this request waits
//	                                    └ 5xx, no response: this request waits, if it can be repeated
//
// The gate delays requests while the forge wants us to wait, spaces them to a rate, writes to one of their own, and limits how many run at once.
// A wait longer than [Config.MaxWait] is an error with the duration, so that the caller's queue can do other work.
//
// A request can be repeated if it is idempotent by its method or [Operation.Repeatable]. Any request can be repeated
// after a rate limit, a lock or a failed connection, because the forge did nothing.
//
// Responses to [Operation.Conditional] requests are kept with their ETag, in bounded memory. The same request later
// asks whether the response has changed. GitHub does not count requests whose response has not.
//
// Responses are read completely, up to a size. The credential is sent to the hosts of the forge only, even on redirects.
package transport
