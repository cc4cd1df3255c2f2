// Package workflowtest says what a CI system would run of a workflow, so that a test can run it by hand.
//
//	files of a repository + what happened ─► steps: script, environment, whether in a checkout
//
// It knows GitHub Actions, GitLab CI, Azure Pipelines and Bitbucket Pipelines as far as the workflows that Kalypso writes need them.
// What it does not know is an error and not left out: a name that the CI system does not give has no value there either.
package workflowtest
