// Package gitlab is the adapter to GitLab, gitlab.com and self-managed, by its REST API, version 4.
//
// A pull request is a merge request and its number the one people see, "!5". A comment is a note. A repository is a project,
// which may lie in any depth of groups.
//
// What is peculiar to it:
//
//   - A status cannot become what it is already: pending after pending is refused. A pending status is then said to be
//     running, which means the same here, and a running one keeps its words.
//   - No branch can demand a status by name. What there is, is a setting of the whole project, that pipelines must succeed:
//     all statuses of a commit together are its pipeline, so that no status may fail. Reading tells it as the check "*".
//   - Required approvals are the project's as well, and they and owners of code need GitLab Premium.
//     What is the whole project's is only ever made stricter here, never given up for one branch's sake.
//   - Who may not merge is told so by 401, as if the token were wrong.
//   - A hook has a token, which travels as it is; GitLab 19 and later sign deliveries besides. See [VerifyWebhook].
//   - A draft is marked in its title.
//
// A token needs the scope api; of a project's own tokens, the role Developer for pull requests and Maintainer for protection
// and hooks. The token of a CI job may read; nearly nothing of what is written here is open to it.
package gitlab
