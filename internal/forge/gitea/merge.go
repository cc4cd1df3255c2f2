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
	c, readErr := r.pull(ctx, number)
	switch after := c.pullRequest(); {
	case readErr != nil:
		return "", readErr
	case after.State == forge.Merged && after.Head.Commit == m.Head:
		return after.MergeCommit, nil
	case err == nil:
		return "", r.conflict("merge pull request", "the forge did not merge it")
	case errors.Is(err, forge.ErrNotFound):
		return "", r.conflict("merge pull request", "the change is "+string(after.State))
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
	if c := p.pullRequest(); c.State != forge.Open || c.Head.Commit != m.Head {
		return r.conflict("merge pull request later", "the change is "+string(c.State)+" at another head")
	}
	err = r.merge(ctx, number, "merge pull request later", m, true)
	if errors.Is(err, forge.ErrConflict) && strings.Contains(err.Error(), "already scheduled") {
		return nil
	}
	return err
}

func (r *Repository) merge(ctx context.Context, number int, op string, m forge.Merge, later bool) error {
	if m.Head == "" {
		return &forge.Error{Kind: forge.ErrInvalid, Op: op, Where: r.id.String(), Detail: "no commit was judged"}
	}
	method := m.Method
	if method == "" {
		method = forge.MergeCommits
	}
	err := r.do(ctx, rest.Request{
		Op: op, Method: http.MethodPost, Path: numbered("/pulls", number, "merge"),
		In: map[string]any{
			"Do": string(method), "head_commit_id": m.Head, "MergeTitleField": m.Title, "MergeMessageField": m.Message,
			"merge_when_checks_succeed": later,
		},
	})
	var e *forge.Error
	if errors.As(err, &e) && strings.Contains(e.Detail, "not allowed to merge") {
		e.Kind, e.Right = forge.ErrDenied, "to merge into the base branch"
	}
	return err
}

func (r *Repository) conflict(op, detail string) error {
	return &forge.Error{Kind: forge.ErrConflict, Op: op, Where: r.id.String(), Detail: detail}
}
