package recording

import (
	"context"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/scheduling"
)

// Branches returns the branches that say what is wanted in an environment: its platform branch, and those that its deployment
// targets get their manifests from, by repository and branch.
func Branches(loaded *scheduling.Loaded) []Branch { return nil }

// States are what clusters say that they run.
type States interface {
	States(ctx context.Context, q ledger.StateQuery) (ledger.StatePage, error)
}

// Followed returns the branches that clusters were reported to follow and that nobody recorded yet, by repository and branch.
// Only repositories for which known is true are returned: it is asked with the URL as reported, which may be any text.
func Followed(ctx context.Context, states States, known func(repository string) bool) ([]Branch, error) {
	return nil, ctx.Err()
}
