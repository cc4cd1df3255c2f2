// Package job runs the Jobs of verifications in a cluster.
//
//	template in the control plane ─► Git ─► reconciler ─► CronJob, suspended ┐
//	server: request with the name of a template ──────────────────────────────┴─► Job ─► result
//
// A request chooses among the suspended CronJobs with the label kalypso.io/job-template, in namespaces of assignments: those with the
// labels "environment", "workspace", "workload" and "deploymentTarget", which the namespace templates write. What runs, and with which
// service account, was reviewed in Git. The agent can only create Jobs in namespaces whose templates bind it to that right.
//
// The name of a Job comes from the request and its template, so that a request that is repeated, also after the agent was killed, finds the Job that runs
// or has ended. A Job belongs to its CronJob and is removed with it, or a while after its end.
package job
