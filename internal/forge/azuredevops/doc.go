// Package azuredevops is the adapter to Azure DevOps Services and Server. It uses version 7.1 of the REST API.
//
// A repository belongs to a project of an organization (Services) or collection (Server): "organization/project/name".
//
// Differences from other forges:
//
//   - Texts are short: 4,000 characters for a description, counted as UTF-16. Truncation keeps the marker in the last line.
//   - Lists of pull requests contain 400 characters of a text. The adapter reads the full text of each pull request
//     separately, except for merged ones.
//   - Commits and pull requests have separate statuses. Policies check only those of pull requests, for the iteration
//     that the status was posted for. The adapter therefore repeats each commit status on the pull requests with that head.
//     A context "a/b" is the genre "a" and the name "b".
//   - Pull requests are completed in the background. Merging waits a few seconds for that.
//   - Any required policy forbids pushing: a branch with one accepts pull requests only. Code owners are not supported.
//   - Labels are created when they are added. The API does not tell who added one.
//   - Issues are work items of the project, with a configured type and a tag that names the repository. Others are ignored.
//     Descriptions are HTML without invisible comments, so ours is preformatted text with its marker visible.
//   - Deliveries are not signed: a subscription sends a password in plain text. There are no deliveries for labels
//     and statuses. Many deliveries do not name their sender.
//   - The answer to a wrong token is a sign-in page, with status 203 or a redirect.
//
// A personal access token needs the scopes Code (read & write) and Code (status). Issues need Work Items (read & write).
// Protecting branches and creating repositories need Code (full). Subscriptions need the permission Edit subscriptions.
package azuredevops
