// Package deliver brings a commit of an application's source to every environment: it is for application teams what
// package scheduling is for the platform.
//
//	source@commit   Workload, Delivery, chart ─┐
//	configuration   values of the targets ─────┼─► render ─► tree ─► plan ─► checks ─► one living change
//	GitOps branch   what is published ─────────┘                          └─► scans
//
// A [Loader] reads the three places at fixed commits, a [Deliverer] makes a [Draft] of them, which is a pure function of those
// commits, and keeps the change of an environment what the draft says. Which commit of the source that is, is written
// where it belongs: in the tracking files of the GitOps branch, and until it is merged in the change that is open. So nothing is
// remembered anywhere else, and a change of configuration renders its environment alone, with the commit that it has.
//
// What scans of charts and images found comes from package scanning, which looks at each digest once, or again
// where a scan wants that, and never makes a draft wait.
//
// A [Pipeline] lets package promoting move commits along the chain of environments, with the version and image that CI said when
// the commit was built.
//
// What a person has to mend in the repositories is a problem with file and line, and holds the targets that depend on it: they
// keep the files they have. An error means that nothing is known about an environment; the others go on.
//
// Applications are not trusted by the platform: nothing of what is read here reaches a template or a policy of it. Where a server
// delivers them, with rights that their teams have not, they reach only repositories of their own ([Bounds]).
package deliver
