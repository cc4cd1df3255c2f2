package ledger

import "github.com/kalypso-io/kalypso/internal/text/repourl"

// CleanRepository returns the URL of a repository in the spelling that ledgers use: see [repourl.Clean].
func CleanRepository(url string) string { return repourl.Clean(url) }
