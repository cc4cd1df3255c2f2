// Package action lets people steer environments from their pages.
//
//	page ─► link ─► GET  /environments/{name}/{action}: what it will do, and a form
//	                POST ─► form of this session? ─► the operation of the API ─► back to the environment, which says so
//
// The actions are those of the API: pause, resume, promote, abort and rollback. A form is sent on to the operation of that name, in
// this process and in the name of whoever sent it, so that roles, limits, the audit trail and the events are the same for
// pages, programs and commands.
//
// # What is shown before
//
// How the environment stands, which commit it is about, what that brings with it, and what it still has to wait for. The form
// says which commit it was shown for: when the environment has another one meanwhile, it is shown again.
//
// Everything works without scripts.
package action
