// Package azuredevopstest is an Azure DevOps that is a real HTTP server and remembers what it is told: the part of the REST
// API that the adapter uses, with the published shapes, paths, pages, limits and refusals, and with merges in the background.
package azuredevopstest
