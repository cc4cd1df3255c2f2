// Package v1 defines the protocol between Kalypso and external schedulers: JSON documents, one request and one response.
//
// A program reads a [Request] from its standard input and writes a [Response] to its standard output. An HTTP endpoint gets
// the request as the body of a POST, and answers with the response.
//
//	SchedulingPolicy ─► candidates ─► Request ─► scheduler or extender ─► Response ─► decisions
//
// A request of the task [Schedule] is for a scheduler, which a policy names with schedulerName: it chooses among the
// candidates. One of the task [Extend] is for an extender: it refuses candidates, or scores them.
//
// docs/reference/scheduler-protocol.md has the rules of both sides, and docs/schemas the JSON Schemas.
package v1
