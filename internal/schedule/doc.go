// Package schedule reads the repositories of an environment at fixed commits and schedules it.
//
// Each source refers to the next:
//
//	control plane main     ─► Environment objects     ─► where the environment is described
//	environment branch     ─► BaseRepo                ─► the promoted commit of main
//	                       ─► ConfigRepo              ─► further configuration
//	main at that commit    ─► WorkloadRegistrations   ─► the workload repositories
//	environment branch     ─► GitOpsRepo              ─► what is published
//
// The result is a pure function of the commits that were read ([Inputs]). Mistakes in the repositories are problems in
// the snapshot and never affect other objects. An error means that nothing can be scheduled: the control plane cannot
// be read, or has no such environment.
//
// A [Drafter] compares the result with what is published. A [Proposer] keeps each environment's pull request equal to
// the draft, in rounds that can be interrupted and repeated. A [Previewer] comments on the control plane's pull
// requests, and plans any branch, pull request or commit ([PlanRequest]).
package schedule
