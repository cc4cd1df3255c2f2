// Package agent watches the reconcilers of a cluster and reports them to the server over one outgoing connection.
//
//	cluster ─► snapshot ─► queue ─► batch ─► server
//	                       ▲   │
//	                     file  └─ accepted reports are removed; the last of each reconciler is kept
//
// # What is reported
//
// The [Queue] compares each snapshot with the last known report of every reconciler and keeps what is new:
// the last report of each, sent or not, and earlier ones that could not be sent yet. Those are bounded; the oldest is
// dropped and counted. Changes within a second are read as one. A batch without reports is a heartbeat: the cluster is
// alive and nothing has changed. While the agent cannot read its cluster it sends no heartbeats.
//
// # Jobs of verifications
//
// The answer to a batch can request Jobs. An agent that may run them passes the requests to package job, and their results go with the next batch.
// Requests repeat until they are answered, so that neither side keeps them across a restart.
//
// # Clusters without a reconciler
//
// An agent that may apply deliveries gets from package direct a [Cluster] that reports them beside the reconcilers that are watched.
//
// # Interruptions
//
// The queue is a file, so a restart loses nothing. Failed batches are sent again after growing pauses, which are partly
// random so that a thousand agents do not return at once. A repeated batch has the same ID and a repeated report the
// same time, so the server can tell what it has already. Times come from the cluster's clock. The times of one
// reconciler only grow, even when the clock is set back.
package agent
