// Package azuredevopstest provides a fake Azure DevOps: a real HTTP server with state. It serves the part of the REST API
// that the adapter uses, with the published shapes, paths, pages, limits and refusals, and with merges in the background.
package azuredevopstest
