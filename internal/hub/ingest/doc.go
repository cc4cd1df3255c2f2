// Package ingest takes in what clusters say about themselves, and says who is one.
//
//	agent   ─► ReadBody ─► ParseBatch ────────────► Intake.Take     ┐
//	Flux    ─► ReadBody ─► ParseFluxEvent ────────► Intake.TakeFlux │  one spelling,
//	Argo CD ─► ReadBody ─► ParseArgoNotification ─► Intake.TakeArgo ├► one clock ─► ledger
//	file    ─► lines, each of them signed ────────► Intake.TakeFile ┘
//
//	operator, or join token ─► Registrar ─► memberships and a credential ─► ledger
//
// Everything that comes in is hostile until it was checked: bodies are read up to a limit, packed or not, errors do not
// repeat what they are about, and texts become one line without credentials. Who sends it was found out by the caller.
// A cluster reports about itself and nobody else.
//
// # Again, late, and out of order
//
// No batch is remembered. An observation is known by its reconciler and its time, and the newest one counts: so a batch that
// comes twice, or after younger ones, leads to the state that it would have led to in its place.
//
// # Clocks
//
// That holds as long as an observation has the same time whenever it arrives. Its time is therefore the cluster's own,
// corrected by what the ledger has noted of the cluster's clock and by nothing that differs from message to message.
// The difference between sending and arriving is two things at once, a clock that is wrong and a message that is late:
//
//	arrived before it was sent       the clock is ahead: a message can be late, but not early
//	arrived when it was sent         the clock is right, give or take two minutes
//	arrived after it was sent        a batch may be late, since it is sent until it is taken; events and files may be, too
//	  and it is a heartbeat          the clock is behind: nobody sends a heartbeat again
//
// What is found out is noted in the ledger with the time of the cluster from which on it holds. A message is corrected
// by the last note that had begun when it was sent, and by which it did not arrive before that. Order counts more than time:
// a note is only made when nothing from then on can come to lie before what is known already. Until then times may be wrong,
// as they are by less than two minutes always. When a cluster is found to be behind, it is asked for all its states once more,
// because what it said since its clock was set back may have looked old.
//
// When a cluster was heard of is not its own affair: it is the time of arrival, and for a file the time when it was written,
// but not later than its arrival.
package ingest
