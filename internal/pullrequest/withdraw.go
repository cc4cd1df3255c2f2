package pullrequest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Withdraw closes a change that has nothing to do any more, and says why. The change is the last to go: while it is open, a
// round that was interrupted is seen. Its text forgets what was proposed first, since what is closed with its digest was refused
// by a person, and some forges close a change themselves when its branch goes.
func (l *Living) Withdraw(ctx context.Context, why string) error {
	if l.Open == nil {
		return nil
	}
	if merging, err := l.merging(ctx); err != nil {
		return err
	} else if merging {
		return fmt.Errorf("change %d is being merged: %w", l.Open.Number, ErrMoved)
	}
	number := l.Open.Number
	if _, err := l.Repository.UpsertComment(ctx, number, "kalypso/withdrawn/"+l.Name, why); err != nil {
		return fmt.Errorf("comment on change %d: %w", number, err)
	}
	if MarkOf(l.Open.Body).Digest != "" {
		body := forge.Mark(without(l.Open.Body), Mark{Name: l.Name}.String(), l.Limits.Body)
		if err := l.Repository.EditPullRequest(ctx, number, forge.PullRequestEdit{Body: &body}); err != nil {
			return fmt.Errorf("edit change %d: %w", number, err)
		}
		if err := l.done("withdrawn", fmt.Sprintf("withdrew change %d, nothing is left to change", number)); err != nil {
			return err
		}
	}
	if branches, ok := l.Repository.(forge.Brancher); ok {
		if err := branches.DeleteBranch(ctx, l.Head); err != nil {
			return fmt.Errorf("delete branch %q: %w", l.Head, err)
		}
		if err := l.done("branch deleted", "deleted "+l.Head); err != nil {
			return err
		}
	}
	closed := forge.Closed
	if err := l.Repository.EditPullRequest(ctx, number, forge.PullRequestEdit{State: &closed}); errors.Is(err, forge.ErrConflict) {
		return errors.Join(ErrMoved, err) // it was merged meanwhile
	} else if err != nil {
		return fmt.Errorf("close change %d: %w", number, err)
	}
	l.Open = nil
	return l.done("closed", fmt.Sprintf("closed change %d", number))
}

// mergeLag is how long a forge may take to say that a change is merged whose branch it has moved already.
const mergeLag = time.Minute

// merging reports whether the open change is, or was just now, merged: forges move the branch first and say so a moment later.
// One whose commit came onto the branch longer ago, by hand and unnoticed by the forge, has nothing to do any more.
func (l *Living) merging(ctx context.Context) (bool, error) {
	c, err := l.Repository.PullRequest(ctx, l.Open.Number)
	if err != nil {
		return false, fmt.Errorf("read change %d: %w", l.Open.Number, err)
	}
	if c.State == forge.Merged {
		return true, nil
	}
	if time.Since(l.Time) > mergeLag {
		return false, nil
	}
	// An error means that the histories have nothing in common, so it is not this head that was merged.
	fork, err := l.Fork(ctx, c.Fetch, c.Head.Commit)
	return err == nil && fork == c.Head.Commit, nil
}
