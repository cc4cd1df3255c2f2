package schedule

import (
	"context"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/schedule/config"
)

// Owners returns the files of the environment's branch, or of main, that hold values with edit rights, and who has them.
func (l *Loaded) Owners(main bool) ([]editing.FileOwners, error) {
	source := l.Snapshot.Environment
	if main {
		source = DefaultBase
	}
	return config.Owners(l.Snapshot, source)
}

// CheckEdits returns a problem for each value that differs between two states of an environment, and that the author of the difference
// may not edit. The two requests differ in the branch that the change is about.
func (l *Loader) CheckEdits(ctx context.Context, author editing.Author, before, after Request) ([]fleet.Problem, error) {
	was, err := l.Load(ctx, before)
	if err != nil {
		return nil, err
	}
	is, err := l.Load(ctx, after)
	if err != nil {
		return nil, err
	}
	return config.CheckEdits(author, was.Snapshot, is.Snapshot, editedSources(before, after)...), nil
}
