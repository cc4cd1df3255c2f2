// Package github is the adapter to GitHub: github.com, GitHub Enterprise with data residency (ghe.com)
// and GitHub Enterprise Server. It authenticates with a token or as a GitHub App.
//
// Differences from other forges:
//
//   - Merged pull requests are closed, too. The pull request tells who merged it, the issue with the same number who closed it.
//   - Lists of issues include pull requests.
//   - 422 has many reasons; only the message tells conflicts, missing commits and too many statuses from invalid requests.
//   - Rate limits are 429 or 403. Package transport handles them.
//   - Automatic merging is only in the GraphQL API.
//   - A token of an app or a CI job cannot read its own account; an app uses its slug.
package github
