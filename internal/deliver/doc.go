// Package deliver delivers commits of an application's source to every environment. It is the counterpart for
// application teams of the platform's package schedule.
//
//	source@commit   Workload, Delivery, chart ─┐
//	configuration   values of the targets ─────┼─► render ─► tree ─► plan ─► checks ─► one pull request
//	GitOps branch   what is published ─────────┘                          └─► scans
//
// A [Loader] reads the three places at fixed commits. A [Drafter] renders a [Draft] from them, which depends only on
// those commits. A [Deliverer] keeps the environment's pull request equal to the draft. Git records which source
// commit an environment has: in the tracking files of the GitOps branch and, until it is merged, in the open pull
// request. No other state is needed, and a change of configuration renders
// its environment with the commit that it already has.
//
// Package scan has the results of scans of charts and images. It scans each digest once, or again if a scan requires
// it, and drafts never wait for it.
//
// A [Pipeline] lets package promote move commits through the environments, with the version and image that CI
// recorded for each commit.
//
// Problems in the repositories have a file and line. They hold the targets that depend on them: these keep their
// published files. An error means that the state of an environment is
// unknown; the other environments are not affected.
//
// The platform does not trust applications: their files never become part of its templates or policies. If a server
// delivers applications with rights that their teams do not have, they
// can use only their own repositories ([Bounds]).
package deliver
