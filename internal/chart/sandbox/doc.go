// Package sandbox renders charts in a process of its own, with limits on its memory and time.
//
//	server                                 kalypso render-chart
//	Runner.Render ── job as JSON ──────► stdin   Serve
//	              ◄─ result as JSON ──── stdout
//
// Charts are untrusted programs. Package chart meters their work, but not the memory of a string that
// is doubled repeatedly. If a chart exhausts memory or crashes a library, only this process ends.
// The process gets only the job: no environment, no arguments. Where the system can do that, it cannot open files, connect to anything
// or start programs.
//
// If a process fails, its targets are rendered in halves, so that one target's values do not fail the others.
// If both halves fail, the chart is the cause. A process that takes too long is not repeated.
//
// A [Box] divides the memory of a container among the server and these processes.
package sandbox
