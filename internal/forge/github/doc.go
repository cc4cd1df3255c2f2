// Package github is the adapter to GitHub: github.com, GitHub Enterprise with data residency (ghe.com)
// and GitHub Enterprise Server. We are there by a token or as a GitHub App.
//
// What is peculiar to it:
//
//   - Closed is what was merged, too. Who merged stands in the pull request, who closed in the issue of the same number.
//   - Issues that have a pull request are pull requests.
//   - Validation fails with 422 for many reasons; what it says tells conflicts from nonsense.
//   - Rate limits come as 429 or 403; package transport knows them, so that the client's own bookkeeping is off.
//   - Automatic merging is only in the GraphQL API.
//   - A token of an app or a CI job cannot ask who it is; an app knows by its slug.
package github
