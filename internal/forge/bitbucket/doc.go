// Package bitbucket is the adapter to Bitbucket Cloud, by its REST API 2.0. https://developer.atlassian.com/cloud/bitbucket/rest/
//
// # What differs
//
//   - Pull requests have no labels. They are the first line of the description, see package texts. There are no issues.
//   - The API abbreviates the commits of pull requests to 12 digits. The adapter asks for the whole ones, and remembers them.
//   - A merge has no expected head, and pull requests have no versions. The adapter compares the head right before the merge, and that of
//     what was merged afterwards.
//   - Opening a second pull request between two branches edits the first. The adapter looks for it before.
//   - A declined pull request cannot be opened again.
//   - Names of accounts are not unique, and users can change them. Accounts are known by their Atlassian account ID.
//   - Forks' commits cannot be fetched from the repository of the pull request.
package bitbucket
