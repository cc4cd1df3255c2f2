// Package ingest receives reports of clusters and registers clusters.
//
//	agent   ─► ReadBody ─► ParseBatch ────────────► Intake.Take     ┐
//	Flux    ─► ReadBody ─► ParseFluxEvent ────────► Intake.TakeFlux │  one spelling,
//	Argo CD ─► ReadBody ─► ParseArgoNotification ─► Intake.TakeArgo ├► one clock ─► ledger
//	file    ─► lines, each of them signed ────────► Intake.TakeFile ┘
//
//	a service that clusters report to, such as Azure Resource Graph ─► Intake.TakeObserved ─► ledger
//
//	operator, or join token ─► Registrar ─► memberships and a credential ─► ledger
//
// All input is untrusted: bodies are limited in size before and after decompression, errors do not quote them, and text is reduced
// to one line without credentials. The caller authenticates the sender. A cluster can report only about
// itself, and about clusters that an admin registered as reported by it.
//
// # Repeated, late and reordered batches
//
// Batches are not remembered. An observation is identified by its reconciler and its time, and the newest one counts. So a
// repeated or late batch leads to the same state as one in order.
//
// # Clocks
//
// That requires that an observation has the same time whenever it arrives. Its time is therefore the cluster's own,
// corrected only by what the ledger stores about the cluster's clock.
// The difference between sending and arrival has two causes, a clock that is off and a message that is late:
//
//	arrived before it was sent       the clock is ahead: a message can be late, but not early
//	arrived when it was sent         the clock is right within two minutes
//	arrived after it was sent        a batch may be late, because it is sent again until it is stored; so may events and files
//	  and it is a heartbeat          the clock is behind: heartbeats are not sent again
//
// A correction is stored with the cluster's time from which on it holds. A message gets the last correction that began before it
// was sent and that does not make it arrive early. Order is more important than time: a correction is stored only if no later
// observation can become older than a known one. Until then, times are off, as all may be by up to two minutes.
// If a clock turns out to be behind, the cluster is asked to send all its states again,
// because reports since its clock was set back may have looked old.
//
// A cluster's last report is the time of arrival; for a file, the time when it was written, but not later than its arrival; for a service,
// the time at which the cluster reported to it.
package ingest
