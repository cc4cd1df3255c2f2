// Package plane is one control plane at work: it schedules environments, previews pull requests, records what is
// published, promotes it, and delivers applications.
//
//	Open(Access) ─► Round      brings the pull request of an environment up to date, and publishes what was merged
//	                Preview    posts on a pull request what it changes
//	                Record     stores what the GitOps branches of an environment want
//	                Promote    moves commits along the chain of environments
//	                Deliver    renders an application, proposes and promotes it, and publishes what was merged
//	                Set, PinTargets   write what a user asks for to a branch of its own
//
// A server runs many planes, and decides when. The operator runs one for each ControlPlane object, and writes its
// status. A command runs one until nothing is left to do; see [Plane.Settle].
//
// An [Access] has all that the work reaches: Git, forges, the ledger, what renders and checks. A plane without one of
// the optional parts does less; [Plane.Abilities] lists what it does, and package planetest what each program has.
//
// A plane keeps nothing itself between two rounds. What is kept is in its Access: the [Board] with the last
// results, the registered [Applications], and caches.
//
// The package knows neither HTTP, nor Kubernetes objects, nor flags.
package plane
