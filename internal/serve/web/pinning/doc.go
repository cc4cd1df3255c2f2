// Package pinning confirms what an operator wants of a single target: to roll it back to one of its revisions, to uninstall it, or to deploy it
// again.
//
//	GET  /environments/{name}/targets/{target}/rollback?revision=COMMIT ─► preview by the operation of the API ─► page with a form
//	GET  /environments/{name}/targets/{target}/uninstall
//	GET  /environments/{name}/targets/{target}/deploy
//	POST ─► form of this session? still the same preview? ─► operation of the API ─► pull request in the name of the user
//
// The operations of the API decide about roles, record the request, and open the pull request, in this process and on behalf of the user. A
// page that was confirmed leads back to the target, which says what happened.
//
// Everything works without scripts.
package pinning
