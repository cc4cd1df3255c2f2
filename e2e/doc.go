// Package e2e tests Kalypso on a real fleet: Kalypso writes to Gitea, and Kubernetes API servers with Flux apply what is
// merged there.
//
//	user ────► Gitea: control plane, workloads ──► kalypso ──► Gitea: GitOps repository ──► Flux ──► cluster "drone"
//	           merges what Kalypso proposes ─────────────────────────────┘          └─────► Flux ──► cluster "large"
//	                                            ▲                                                        │
//	                                            └────────────────── reports ◄── kalypso-agent ◄──────────┘
//
// Each test is a story in steps. README.md describes how to run them.
package e2e
