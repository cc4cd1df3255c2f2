// Package setting is the form with which users who do not use Git set values: of a target or a folder of an application's
// configuration, and of a ConfigMap of the platform.
//
//	GET  /workloads/{name}/values            a field for each value: what the schemas say, where it comes from, who may set it
//	GET  /environments/{name}/values
//	POST ─► form of this session? ─► operation of the API ─► preview ─► the same again ─► pull request in the name of the user
//
// All values are read and written by operations of the API, in this process and on behalf of the user, so that roles, edit rights,
// checks, the audit trail and pull requests are the same for pages, programs and commands. Nothing is stored outside Git.
//
// A form carries the value that each field had when it was shown. A field counts as changed if the user entered another one; if the
// value has meanwhile become another one, the field says so and keeps the input.
//
// Everything works without scripts.
package setting
