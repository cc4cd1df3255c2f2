// Package install lets a real cluster take part in a sample: it installs the objects that follow Git, and removes exactly those.
//
//	Plan ─► Objects ─► Cluster.Apply      a Secret, and for each environment a GitRepository and a Kustomization of Flux;
//	           │                          the service account of the agent, which can only read reconcilers
//	           └─────► Cluster.Remove     what has the label of the sample, and what Flux applied from it
//
// Flux is installed before, and stays. If an object with one of the names does not have the label, nothing
// is applied at all.
package install
