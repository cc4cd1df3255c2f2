// Package api serves the HTTP API below /api/v1: the state and history of the fleet, reports of clusters, and commands of users.
//
//	request ─► Shield: request ID, headers, panics
//	           └► route ─► role of the operation ─► limits ─► operation ─► flow ─► JSON, ETag, next page
//	                                                             └► audit trail, before every write
//
// Queries are methods of [query.Observer], whose query types declare the parameters. Commands go to package promote and reports to
// package ingest. Operations are described by OpenAPI 3.1, at /api/openapi.json and /api/openapi.yaml; the descriptions of fields
// are the comments of the Go types.
//
// # Errors
//
// Every error below /api is application/problem+json (RFC 9457), with its location and what to do.
// The table in error.go maps errors to statuses.
//
// # Events
//
// [Events] tells listeners what changed and what to fetch again, not the new state: a lost signal costs one request.
package api
