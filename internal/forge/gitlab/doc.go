// Package gitlab is the adapter to GitLab, gitlab.com and self-managed. It uses version 4 of the REST API.
//
// A pull request is a merge request, with the number that pages show, "!5". A comment is a note. A repository is a project,
// at any depth of groups.
//
// Differences from other forges:
//
//   - A status cannot be set to its current state: pending after pending is refused. The adapter then sets a pending status
//     to running, which means the same here. A running status keeps its description.
//   - A branch cannot require a status by name. Instead, the whole project can require that pipelines succeed: all statuses
//     of a commit form its pipeline, so none may fail. The adapter reads this as the check "*".
//   - Required approvals belong to the project as well. They, and code owners, need GitLab Premium.
//     The adapter only ever makes project settings stricter. It never relaxes them for a branch.
//   - An account that cannot merge gets 401, as if its token were wrong.
//   - A hook sends a token in plain text; GitLab 19 and later also sign deliveries. See [Forge.VerifyWebhook].
//   - A prefix of the title marks a draft.
//
// A token needs the scope api. A project's token needs the role Developer for pull requests, and Maintainer for protection
// and hooks. The token of a CI job can read; it can do almost none of the writes.
package gitlab
