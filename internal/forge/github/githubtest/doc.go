// Package githubtest is a GitHub in memory with an HTTP server in front, that answers with the shapes of the published
// API as GitHub Enterprise Server has it, below /api/v3.
package githubtest
