// Package forge is the port to hosts of repositories and pull requests:
// GitHub, GitLab, Gitea and Forgejo, Azure DevOps, and the embedded forge.
//
// # Words
//
//	forge     one installation that hosts repositories: github.com, or a Gitea of your own
//	site      its address, which decides whether a URL is one of its repositories
//	status    the result of a program for a commit, under the program's context
//	note      a comment at a line of a pull request that shows an annotation
//	marker    an invisible line that identifies a text of ours
//	right     the permission that a token lacks
//
// # Shape
//
// A [Forge] returns a [Repository] for a URL, without a request. A repository consists of five small interfaces,
// [PullRequests], [Labels], [Statuses], [Comments] and [Issues]; callers declare the methods they need. An ability of some
// forges or tokens only, such as [Protector] or [AutoMerger], is an interface of its own, found by type assertion.
//
// # Rules
//
// All methods are idempotent: setting what is already set is not an error and, where possible, sends no request.
// Adapters retry failed requests, except those that open or merge, because a response may be lost after the forge did it.
// Before calling these again, check whether the first call succeeded.
//
// Adapters cut texts that are too long for the forge; see [Limits] to cut them better.
// Lists include all pages, unless a filter limits them.
//
// Every error is an [*Error] of one of the kinds of this package, or that of the context.
// No error contains a credential. Package forgetest has all rules as tests, which every adapter passes.
package forge
