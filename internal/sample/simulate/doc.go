// Package simulate runs simulated clusters: they follow Git as real ones do, and report what came of it.
//
//	platform GitOps repository ─► reconciler of each membership ─► objects ─┐
//	        folder of the cluster type                             ▲        │ sources, Kustomizations, Applications
//	application GitOps repositories ─► their reconcilers ──────────┘ ◄──────┘
//	                                        │ status, as Flux or Argo CD writes it
//	                                        └─► cluster.Reports ─► agent.Queue ─► server
//
// There are no containers and no Kubernetes: a simulated cluster is a store of objects, the rules by which an API server
// refuses one, and reconcilers that apply what they find in Git. What they report takes the way of real clusters from the
// status of the objects on: the same reading of Flux and Argo CD, the same queue, the same wire format.
//
// # Time
//
// [Simulation.Step] does one round at a time that the caller names: it looks at the sources that are due, goes on with what
// is under way, and sends what there is to report. It starts no goroutine and waits for nothing but Git and the server,
// so the same seed, commits and times give the same reports. [Simulation.Run] steps by the clock, several clusters at once.
//
// # What is like the real thing
//
// A reconciler looks at its source every [Config.Poll], takes [Config.Delay] for what it finds, and applies all of a folder
// or nothing. What does not parse, has no kind that the cluster serves, or no namespace to be in, fails with the
// message of a real cluster. What is gone from Git is pruned. A Deployment becomes available after a while.
// A [Behaviour] makes a cluster fail, disappear or lag.
//
// # What is not
//
// A kustomization.yaml may list resources and set a namespace. Charts and OCI artifacts are not fetched:
// what comes from them becomes ready and has no objects. There are no pods, and no controllers but Flux and Argo CD.
package simulate
