// Package harness runs a fleet on this machine, without containers: real Kubernetes API servers, a real Flux beside each,
// and a real Gitea that they follow.
//
//	Lab ── Start ──► Process            a program with its own log, killed with the test
//	 │
//	 ├─ Etcd ◄─── APIServer, ControllerManager ──► Cluster     one of each per cluster, and a prefix in etcd
//	 │                                               ├─ Flux   source-controller and kustomize-controller
//	 │                                               ├─ Node   kwok, if asked for
//	 │                                               └─ Rancher  Rancher Fleet, if asked for, and its Jobs as processes
//	 └─ Gitea ──► Account, Repository, Checkout
//
// Nothing is mocked but for the machines that clusters would have: without nodes, Deployments are stored and never run, and
// with [Stack.AddNode] kwok writes the status of pods as a kubelet would. Everything listens on free ports of 127.0.0.1, keeps its files in the folder of the [Lab], and is waited for
// by asking whether it is ready.
//
// [StartStack] starts all of it, within seconds.
package harness
