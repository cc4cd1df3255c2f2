// Package gitea is the adapter to Gitea and Forgejo. It uses version 1 of their REST API.
//
// Differences from other forges:
//
//   - Pull requests can be listed by base branch but not by head, so the adapter filters by head.
//   - Merged pull requests are closed, too.
//   - Labels are removed from a pull request by number, not by name.
//   - The timeline tells who closed a pull request, and who added a label.
//   - A pull request can be merged only after its mergeability was computed in the background. Until then, a merge is a conflict.
//   - Code owners get review requests. Requiring their approval means blocking merges on official review requests.
package gitea
