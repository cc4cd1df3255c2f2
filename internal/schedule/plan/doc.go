// Package plan says what a change does to an environment, in the terms of the people who decide about it:
// which assignments are added, changed, removed or held, which configuration keys change from what to what and where
// that is written, which cluster types are touched, and whether a person has to agree first.
//
//	before (what the GitOps branch holds, or an earlier commit) ┐
//	                                                            ├─ Compare ─► Plan ─► text, Markdown, JSON
//	after  (the bundle of now)                                  ┘
//
// A plan is refused, until a person says so, when it removes more assignments than the deletion budget,
// when the environment has no cluster type at all, or when nothing would be left where there was something.
package plan
