// Package gitea is the adapter to Gitea and Forgejo, by their REST API, version 1.
//
// What is peculiar to them:
//
//   - Pull requests can be listed by base branch and not by head, so that heads are compared here.
//   - Closed is what was merged, too.
//   - Labels are taken from a pull request by number, not by name.
//   - Who closed a pull request, and who added a label, stands in its timeline.
//   - A pull request is merged only after its mergeability was computed in the background; until then, a merge is a conflict.
//   - Owners of code are asked for their review; demanding it is blocking on official review requests.
package gitea
