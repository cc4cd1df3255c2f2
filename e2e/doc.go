// Package e2e tests Kalypso on a fleet that runs: Kalypso writes to a real Gitea, and real Kubernetes API servers,
// each with a real Flux, do what is merged there.
//
//	person ──► Gitea: control plane, workloads ──► kalypso ──► Gitea: GitOps repository ──► Flux ──► cluster "drone"
//	           merges what Kalypso proposes ─────────────────────────────┘          └─────► Flux ──► cluster "large"
//	                                            ▲                                                        │
//	                                            └────────────────── reports ◄── kalypso agent ◄──────────┘
//
// The tests are stories, each told by its steps. README.md says how to run them.
package e2e
