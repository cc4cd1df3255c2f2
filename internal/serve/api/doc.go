// Package api answers programs: what the fleet is and was, what clusters say, and what people want, below /api/v1.
//
//	request ─► Shield: name, headers, panics
//	           └► route ─► role of the operation ─► limits ─► operation ─► flow ─► JSON, ETag, next page
//	                                                              └► audit trail, before every write
//
// The answers are the types of package observing, and what is written goes to packages promoting and reporting: the API
// adds addresses, roles, pages and errors, and no meaning of its own. Operations are described by OpenAPI 3.1, at
// /api/openapi.json and /api/openapi.yaml; what a field means comes from the comments of the types.
//
// # Errors
//
// Every error below /api is application/problem+json (RFC 9457) with what is wrong, where, and what to do next.
// One table, in error.go, says which error is which status.
//
// # Events
//
// [Events] tells listeners that something is not as it was, and what to fetch again, not what it is now: a lost signal costs a
// look, never the truth.
package api
