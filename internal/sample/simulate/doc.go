// Package simulate runs simulated clusters. They follow Git as real clusters do, and report the result.
//
//	platform GitOps repository ─► reconciler of each membership ─► objects ─┐
//	        folder of the cluster type                             ▲        │ sources, Kustomizations, Applications
//	application GitOps repositories ─► their reconcilers ──────────┘ ◄──────┘
//	                                        │ status, as Flux or Argo CD writes it
//	                                        └─► cluster.Reports ─► agent.Queue ─► server
//
// In an environment with rings, the reconciler of a membership follows the cluster's folder of the GitOps repository instead, which has
// the objects that follow the branch of the ring.
//
// There are no containers and no Kubernetes. A simulated cluster is a store of objects, the rules by which an API server
// rejects them, and reconcilers that apply what they find in Git. From the status of the objects on, reports take the same
// path as on real clusters: the same reading of Flux and Argo CD, the same queue, the same wire format.
//
// # Time
//
// [Simulation.Step] does one round at a time that the caller gives: it polls the sources that are due, continues what
// is in progress, and sends reports. It starts no goroutine and waits only for Git and the server,
// so the same seed, commits and times give the same reports. [Simulation.Run] steps by the clock, several clusters at once.
//
// # What is like the real thing
//
// A reconciler polls its source every [Config.Poll], needs [Config.Delay] for what it finds, and applies all of a folder
// or nothing. An object that does not parse, or has an unknown kind or namespace, fails with the
// message of a real cluster. What is deleted in Git is pruned. A Deployment becomes ready after a while.
// A [Behaviour] makes a cluster fail, disappear or lag.
//
// # What is not
//
// A kustomization.yaml may list resources and set a namespace. Charts and OCI artifacts are not fetched:
// their reconcilers become ready and have no objects. There are no pods, and no controllers except Flux and Argo CD.
package simulate
