// Package bitbucketserver is the adapter to Bitbucket Data Center and Server 7.14 and later, by its REST API 1.0.
// https://developer.atlassian.com/server/bitbucket/rest/
//
// # Addresses
//
// A repository has three: the page /projects/KEY/repos/name, and for Git /scm/key/name and, by ssh, key/name. All are scm/key/name here,
// in lower case, as in the URL to clone.
//
// # What differs
//
//   - Pull requests have no labels. They are the first line of the description, see package texts.
//   - There are no issues.
//   - A write names the version of the pull request that it changes. Bitbucket refuses an older one with a conflict.
//   - A merge has no expected head. The adapter compares the head before, names the version that it read, and compares the head of what was
//     merged afterwards.
//   - A missing permission is 401, as a wrong token is. Only answers to a token that Bitbucket knows name its account in a header.
//   - The statuses of a commit are listed up to 100, and webhooks do not tell of them.
package bitbucketserver
