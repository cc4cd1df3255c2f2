// Package reporting takes in what clusters say about themselves, and says who is one.
//
//	agent      ─► ReadBody ─► ParseBatch ──────────────► Intake.Take     ┐
//	Flux       ─► ReadBody ─► Signed? ─► ParseFluxEvent ─► Intake.TakeFlux ├─► one spelling, one clock ─► ledger
//	Argo CD    ─► ReadBody ─► ParseArgoNotification ────► Intake.TakeArgo ┤
//	file       ─► Intake.TakeFile: each line signed ────────────────────┘
//
//	join token, or operator ─► Registrar ─► membership and credential
package reporting
