// Package plan describes what a pull request changes in an environment, in terms that reviewers need: which
// assignments are added, changed, removed or held, which configuration keys change from what to what and where that
// is written, which roles and Secrets on clusters are granted or withdrawn, which reconcilers are handed over, which cluster types are affected, and
// whether the change needs approval.
//
//	before (what the GitOps branch holds, or an earlier commit) ┐
//	                                                            ├─ Compare ─► Plan ─► text, Markdown, JSON
//	after  (the current bundle)                                 ┘
//
// A plan needs approval if it removes more assignments than the deletion budget allows, if the environment has no
// cluster types, if it removes everything that is published, or if it removes reconcilers that were handed over.
package plan
