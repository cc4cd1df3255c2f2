// Package forge is the port to what hosts repositories and the requests to change them:
// GitHub, GitLab, Gitea and Forgejo, Azure DevOps, and the forge that the server brings along.
//
// # Words
//
//	forge     one installation that hosts repositories: github.com, a Gitea at home
//	site      where it is, and which URLs are its repositories'
//	change    a request to merge a branch into another: a pull request, or merge request
//	status    what a program says about a commit, under a name of its own, its context
//	note      something that is said at a place in a pull request, in the words of an annotation
//	marker    an invisible line in a text by which its writer finds it again
//	right     what a token lacks when the forge says no
//
// # Shape
//
// A [Forge] gives a [Repository] for a URL, without asking anybody. A repository is the sum of five small interfaces,
// [PullRequests], [Labels], [Statuses], [Comments] and [Issues]; callers declare the part they need. What only some forges,
// or some tokens, can do is an interface of its own that is found by type assertion, such as [Protector] or [AutoMerger].
//
// # Rules
//
// Everything here may be repeated: what is already as asked is no error and, where that can be known, no request.
// Only opening something and merging are not repeated by themselves, since the answer of the first attempt may be lost;
// look first whether it is there.
//
// Texts longer than the forge takes are cut, never refused; see [Limits] to cut them well.
// Lists are complete, however many pages the forge makes of them, unless a filter says how many are wanted.
//
// Every error is an [*Error] of one of the kinds of this package, or the context's own.
// No error contains a credential. Package forgetest states all rules as tests, which every adapter passes.
package forge
