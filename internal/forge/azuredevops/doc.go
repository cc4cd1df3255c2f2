// Package azuredevops is the adapter to Azure DevOps, Services and Server, by its REST API, version 7.1.
//
// A repository is one of a project of an organization (Services) or collection (Server): "organization/project/name".
//
// What is peculiar to it:
//
//   - Texts are short: 4,000 characters for a description, counted as UTF-16. What is cut keeps the marker in its last line.
//   - Lists of pull requests tell 400 characters of a text. The whole text is read one by one, except of what was merged.
//   - There are statuses of commits and, apart from them, of pull requests, and policies look at the latter, for the
//     iteration that was judged. Each status of a commit is therefore repeated on the pull requests that have it as head.
//     A context "a/b" is the genre "a" and the name "b".
//   - Pull requests are completed in the background; a merge waits a few seconds for that.
//   - Any required policy forbids to push, so that a branch with one is always open to pull requests only. Owners of code are unknown.
//   - Labels come into being when they are added. Nobody tells who added one.
//   - Issues are work items of the project, of a configured type, with a tag that names the repository; others are not seen.
//     A description is HTML, from which invisible comments are removed, so that ours is preformatted text with its marker visible.
//   - Deliveries are not signed: a subscription has a password, which travels as it is. Nothing is delivered when a label
//     or a status is set. The sender is often not told.
//   - A wrong token is answered by a page to sign in, with status 203 or a redirection.
//
// A personal access token needs the scopes Code (read & write) and Code (status), for issues Work Items (read & write), and to
// protect branches or to create repositories Code (full). Subscriptions need the permission Edit subscriptions.
package azuredevops
