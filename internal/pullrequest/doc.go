// Package pullrequest keeps the one living change from a branch to another what it should be.
//
//	files, title, text ─► commit ─► push to the head branch ─► statuses ─► open or edit ─► labels ─► merge ─► annotations
//	nothing to change  ─► say so ─► delete the head branch ─► close
//
// It is level-triggered: whoever keeps a change begins with [Living.Find], and does what is missing. It may be killed after
// any step and run again, and two of them at once end in the same state. A status precedes the text that speaks of it,
// and the text carries a mark of what was done, so that keeping what is as it should be needs no further question.
//
// A change that a person closed is not opened again until it would propose something else. What a person takes back,
// such as an automatic merge, is not done again for the same commit. Changes and branches of others are left alone.
package pullrequest
