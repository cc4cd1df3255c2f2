package scheduling

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// withdraw closes a change that has nothing to do any more. The change is the last to go: while it is open, a round
// that was interrupted is seen. Its body forgets what was proposed first, since what is closed with its digest was refused
// by a person, and some forges close a change themselves when its branch goes.
func (r *round) withdraw(ctx context.Context, request Request) error {
	if r.open == nil {
		return nil
	}
	if merging, err := r.merging(ctx); err != nil {
		return err
	} else if merging {
		return fmt.Errorf("change %d is being merged: %w", r.open.Number, ErrMoved)
	}
	number, marker := r.open.Number, "kalypso/withdrawn/"+request.Environment
	if _, err := r.repo.UpsertComment(ctx, number, marker, "The GitOps branch holds all of this already: nothing is left to change."); err != nil {
		return fmt.Errorf("comment on change %d: %w", number, err)
	}
	if body := withdrawn(r.open.Body, request.Environment, r.host.Limits().Body); markOf(r.open.Body).Digest != "" {
		if err := r.repo.EditChange(ctx, number, forge.ChangeEdit{Body: &body}); err != nil {
			return fmt.Errorf("edit change %d: %w", number, err)
		}
		if err := r.done("withdrawn", fmt.Sprintf("withdrew change %d, nothing is left to change", number)); err != nil {
			return err
		}
	}
	if branches, ok := r.repo.(forge.Brancher); ok {
		branch := HeadBranch(request.Environment)
		if err := branches.DeleteBranch(ctx, branch); err != nil {
			return fmt.Errorf("delete branch %q: %w", branch, err)
		}
		if err := r.done("branch deleted", "deleted "+branch); err != nil {
			return err
		}
	}
	closed := forge.Closed
	if err := r.repo.EditChange(ctx, number, forge.ChangeEdit{State: &closed}); errors.Is(err, forge.ErrConflict) {
		return errors.Join(ErrMoved, err) // it was merged meanwhile
	} else if err != nil {
		return fmt.Errorf("close change %d: %w", number, err)
	}
	r.outcome.Change = nil
	return r.done("closed", fmt.Sprintf("closed change %d", number))
}

// mergeLag is how long a forge may take to say that a change is merged whose branch it has moved already.
const mergeLag = time.Minute

// merging reports whether the open change is, or was just now, merged: forges move the branch first and say so a moment later.
// One whose commit came onto the branch longer ago, by hand and unnoticed by the forge, has nothing to do any more.
func (r *round) merging(ctx context.Context) (bool, error) {
	c, err := r.repo.Change(ctx, r.open.Number)
	if err != nil {
		return false, fmt.Errorf("read change %d: %w", r.open.Number, err)
	}
	if c.State == forge.Merged {
		return true, nil
	}
	if time.Since(r.gitops.Time) > mergeLag {
		return false, nil
	}
	// An error means that the histories have nothing in common, so it is not this head that was merged.
	fork, err := r.Loader.Repositories.Fork(ctx, r.gitops.Location, c.Fetch, c.Head.Commit)
	return err == nil && fork == c.Head.Commit, nil
}

// withdrawn is a body that no longer proposes anything.
func withdrawn(body, environment string, limit int) string {
	var b strings.Builder
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, "<!-- "+markPrefix) {
			b.WriteString(line)
		}
	}
	return forge.Mark(b.String(), mark{Environment: environment}.String(), limit)
}
