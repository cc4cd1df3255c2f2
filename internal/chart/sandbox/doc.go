// Package sandbox renders charts in a process of its own, with limits on its memory and time.
//
//	server                                 kalypso render-chart
//	Runner.Render ── job as JSON ──────► stdin   Serve
//	              ◄─ result as JSON ──── stdout
//
// Charts are programs of other people. Package chart meters what they do, but not how much memory a text takes that
// is doubled again and again; when that, or a mistake of a library, ends the process, it ends this one only.
// The process gets nothing but the job: no environment, no arguments of its own, and it opens no file.
//
// When a process fails, its targets are tried in halves, so that one target's values do not fail the others.
// Two halves that both fail mean that it is the chart's fault.
package sandbox
