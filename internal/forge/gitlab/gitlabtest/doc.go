// Package gitlabtest provides a fake GitLab: a real HTTP server with state. It serves the part of the REST API that
// the adapter uses, with the published shapes, paths, pages, limits and refusals.
package gitlabtest
