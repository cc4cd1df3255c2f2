// Package pullrequest keeps the one pull request from a branch to another up to date, for both pipelines.
//
//	files, title, text ─► commit ─► push to the head branch ─► statuses ─► open or edit ─► labels ─► merge ─► annotations
//	nothing to change  ─► comment ─► delete the head branch ─► close
//
// A pipeline calls [PullRequest.Publish] with the [Draft] of a GitOps branch, which adds what such pull requests have in common:
// the deletion budget, checks, their labels and the end of the text. Other pull requests are a [Proposal].
//
// It is level-triggered: [PullRequest.Find] finds where things stand, and what is missing is done. It may be killed after
// any step and run again, and two of them at once end in the same state. A status is set before the text that refers to it,
// and the text carries a [Mark] of what was done, so that a round without changes only has to find the pull request.
//
// A pull request that a user closed stays closed until it would propose something else. What a user takes back,
// such as an automatic merge, is not done again for the same commit. Pull requests and branches of others are left alone.
package pullrequest
