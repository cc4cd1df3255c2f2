// Package transport carries requests to a forge and is polite about it. Adapters share it, so that each only has to
// know its forge's API.
//
// One [Transport] is made for a forge and a credential, and all work goes through it:
//
//	request ─► gate ─► credential ─► attempt ─► answer
//	            ▲                       │
//	            └── rate limited ◄──────┤ 429, or 403 with its signs: everybody waits
//	                                    └ 5xx, no answer: this request waits, if it may be repeated
//
// The gate holds requests back while the forge wants us to wait, spaces them out to a rate, and bounds how many are under
// way. Waits longer than [Config.MaxWait] are not waited: they are an error that says how long, and the caller's queue
// knows what to do meanwhile.
//
// A request may be repeated when its method says so or [Operation.Repeatable] does. Any request may be repeated
// that was refused by a rate limit, or whose connection was never made, since then nothing happened.
//
// Answers are read whole, up to a size. The credential goes to the forge's own host and nowhere else, redirects included.
package transport
