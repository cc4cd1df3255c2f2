// Package schedule reads the repositories of an environment at fixed commits and schedules it.
//
// Each source names the next, so reading is a short walk:
//
//	control plane main     ─► Environment objects     ─► where the environment is described
//	environment branch     ─► BaseRepo                ─► the promoted commit of main
//	                       ─► ConfigRepo              ─► further configuration
//	main at that commit    ─► WorkloadRegistrations   ─► the workload repositories
//	environment branch     ─► GitOpsRepo              ─► what is published
//
// From there on everything is a pure function of the commits that were read ([Inputs]).
// What a person has to mend in the repositories is a problem in the snapshot and never stops the rest.
// An error means that there is nothing to schedule: the control plane itself cannot be read,
// or it does not know the environment.
//
// A [Proposer] then makes the one living change of an environment what it should be, in rounds that may be killed
// anywhere and run again, and a [Previewer] says on the changes of a control plane what they would do.
// It also answers a [Trial]: what any branch, change or commit would do, without a word to anybody.
package schedule
