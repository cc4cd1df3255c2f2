// Package install lets a real cluster take part in a sample: it puts on the cluster what follows Git, and takes exactly that away.
//
//	Plan ─► Objects ─► Cluster.Apply      a Secret, and for each environment a GitRepository and a Kustomization of Flux;
//	           │                          the account that the agent acts as, which may only read what reconcilers say
//	           └─────► Cluster.Remove     what has the label of the sample, and whatever came by it
//
// Flux is there before, and stays. What has one of the names already, and not the label, belongs to somebody else: then nothing
// is applied at all.
package install
