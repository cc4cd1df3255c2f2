// Package largefleet generates the files of a large control plane, in memory
// and of any size, for benchmarks and demonstrations.
//
// [Generate] returns the same bytes for the same [Spec], in the formats that users write:
//
//	main                                  dev (the environment branch)
//	  .environments/dev.yaml                main.yaml, gitops.yaml
//	  templates/*.yaml                      policies/team-00.yaml
//	  workloads/app-000.yaml                configs/environment.yaml
//	  configs/app-000.yaml                  cluster-types/east-us/{config,small,large...}.yaml
//	                                        cluster-types/east-us/east-us-small-000/{cluster-type,config}.yaml
//	apps/app-000
//	  workload.yaml
//
// Every target is assigned to every cluster type: a team's policy selects the targets of its workspace and all
// managed cluster types. Every assignment has exactly [Spec.Layers] layers of configuration, exactly one of which
// depends on the target, so that targets of a workload share their configuration
// on a cluster type. A generated fleet has no problems.
package largefleet
