package pullrequest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kalypso-io/kalypso/internal/forge"
)

const (
	inQueue = "it is in the forge's merge queue"
	// queuedWithOthers is also the description of the statuses that wait.
	queuedWithOthers = "the merge queue tests it together with other changes, which Kalypso has not checked"
)

// followQueue posts the statuses on the commit that the forge's merge queue tests, because a branch requires them there again. They are
// those of the pull request if the commit has the same files. Otherwise they are pending: the files were not checked. When the changes
// before it are merged, a round proposes the same on top of them, and checks that.
func (p *PullRequest) followQueue(ctx context.Context, proposal *Proposal, mark *Mark) error {
	queuer, ok := p.Repository.(forge.Queuer)
	if !ok || p.opened || p.Open.State != forge.Open {
		return nil
	}
	q, err := queuer.Queued(ctx, p.Open.Number)
	if errors.Is(err, forge.ErrDenied) && !unauthorized(err) || errors.Is(err, forge.ErrNotFound) {
		return nil // without a right to see it
	}
	if err != nil {
		return fmt.Errorf("read the merge queue of pull request %d: %w", p.Open.Number, err)
	}
	if q == nil || q.Head != mark.Commit {
		return nil // the forge throws out what was changed
	}
	if proposal.AutoMerge {
		p.Waits = inQueue
	}
	if q.Commit == "" {
		return nil
	}
	statuses := slices.Clone(proposal.Statuses)
	if !q.SameFiles {
		if proposal.AutoMerge {
			p.Waits = queuedWithOthers
		}
		for i := range statuses {
			statuses[i].State, statuses[i].Description = forge.Pending, queuedWithOthers
		}
	}
	return p.postOnQueue(ctx, q.Commit, statuses)
}

// postOnQueue posts the statuses that a commit lacks. The queue may have made another commit meanwhile.
func (p *PullRequest) postOnQueue(ctx context.Context, commit string, statuses []forge.Status) error {
	known, err := p.Repository.Statuses(ctx, commit)
	if err != nil {
		return forge.Ignore(fmt.Errorf("read statuses of the merge queue: %w", err), forge.ErrNotFound)
	}
	for _, s := range statuses {
		s.Description = forge.OneLine(s.Description, p.Limits.StatusDescription)
		if slices.ContainsFunc(known, func(k forge.Status) bool { return k.Context == s.Context && k.State == s.State }) {
			continue
		}
		err := p.Repository.SetStatus(ctx, commit, s)
		if errors.Is(err, forge.ErrInvalid) || errors.Is(err, forge.ErrNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("set status %q in the merge queue: %w", s.Context, err)
		}
		p.did("set %s to %s in the merge queue", s.Context, s.State)
	}
	return nil
}
