// Package githubtest provides a fake GitHub in memory, behind a real HTTP server. It answers with the shapes of the
// published API as GitHub Enterprise Server serves it, below /api/v3.
package githubtest
