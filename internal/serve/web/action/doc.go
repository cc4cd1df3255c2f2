// Package action lets operators act on environments from their pages.
//
//	page ─► link ─► GET  /environments/{name}/{action}: a preview and a form
//	                POST ─► form of this session? ─► operation of the API ─► back to the environment, with a notice
//
// The actions are those of the API: pause, resume, promote, abort and rollback, approve, bypass and skip. Another
// one merges a pull request. A form is passed on to the operation of the same name, in this process and on behalf
// of the user, so that roles, limits, the audit trail and events are the same for pages, programs and commands.
//
// # Confirmation
//
// The page shows the environment's current state, the commit, what it changes, and what it has to wait for. The form carries the
// commit that the environment had then: if it has another one when the form arrives, the page is shown again.
//
// Everything works without scripts.
package action
