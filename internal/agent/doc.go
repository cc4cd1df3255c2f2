// Package agent reports what the reconcilers of a cluster do to the server, over one outgoing connection.
//
//	cluster ─► snapshot ─► queue ─► batch ─► server
//	                       ▲   │
//	                     file  └─ what was taken is forgotten, except for the last of each reconciler
//
// # What is reported
//
// The [Queue] compares each snapshot with the last that was said of every reconciler, and keeps what is news:
// the last state of each, whether sent or not, and the states before it that could not be sent yet. Of those there is a
// bound; the oldest is dropped and counted. Nobody is woken for single events: several changes within a moment are one look.
// A batch without news is a heartbeat, and says that the cluster is alive and nothing has changed. When the agent
// cannot reach its cluster there are no heartbeats, because it does not know.
//
// # Interruptions
//
// The queue is a file, so that a restart loses nothing. An unreachable server is tried again with growing pauses,
// part of them random so that a thousand agents do not come back at once. A repeated batch has the same id,
// and a repeated report the same time, so that the server can tell what it has.
// Times are of the cluster's clock. Those of one reconciler only grow, even when the clock is set back.
package agent
