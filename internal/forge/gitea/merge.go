package gitea

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// MergePullRequest merges a pull request. The API's answer lacks the commit, and its refusals vary.
// The result therefore depends on the pull request's state afterwards.
func (r *Repository) MergePullRequest(ctx context.Context, number int, m forge.Merge) (string, error) {
	err := r.merge(ctx, number, "merge pull request", m, false)
	if err != nil && !errors.Is(err, forge.ErrConflict) && !errors.Is(err, forge.ErrNotFound) {
		return "", err
	}
	p, readErr := r.pull(ctx, number)
	switch after := p.pullRequest(); {
	case readErr != nil:
		return "", readErr
	case after.State == forge.Merged && after.Head.Commit == m.Head:
		return after.MergeCommit, nil
	case err == nil:
		return "", r.Fail(forge.ErrConflict, "merge pull request", "the forge did not merge it")
	case errors.Is(err, forge.ErrNotFound):
		return "", r.Fail(forge.ErrConflict, "merge pull request", "the pull request is "+string(after.State))
	}
	return "", err
}

// AutoMerge requests a merge once the checks succeed. The API does not compare the head, so AutoMerge does so first.
// A later push cancels the merge.
func (r *Repository) AutoMerge(ctx context.Context, number int, m forge.Merge) error {
	p, err := r.pull(ctx, number)
	if err != nil {
		return err
	}
	if now := p.pullRequest(); now.State != forge.Open || now.Head.Commit != m.Head {
		return r.Fail(forge.ErrConflict, "merge pull request later", "the pull request is "+string(now.State)+" at another head")
	}
	err = r.merge(ctx, number, "merge pull request later", m, true)
	if errors.Is(err, forge.ErrConflict) && strings.Contains(err.Error(), "already scheduled") {
		return nil
	}
	return err
}

func (r *Repository) merge(ctx context.Context, number int, op string, m forge.Merge, later bool) error {
	if m.Head == "" {
		return r.Fail(forge.ErrInvalid, op, "no commit was checked")
	}
	var err error
	var e *forge.Error
	for _, method := range m.Methods() {
		err = r.Do(ctx, rest.Request{
			Op: op, Method: http.MethodPost, Path: rest.Path("pulls", number, "merge"),
			In: map[string]any{
				"Do": string(method), "head_commit_id": m.Head, "MergeTitleField": m.Title, "MergeMessageField": m.Message,
				"merge_when_checks_succeed": later,
			},
		})
		if !errors.As(err, &e) || !strings.Contains(e.Detail, "merge style") {
			break
		}
	}
	if errors.As(err, &e) && strings.Contains(e.Detail, "not allowed to merge") {
		e.Kind, e.Right = forge.ErrDenied, "to merge into the base branch"
	}
	return err
}
