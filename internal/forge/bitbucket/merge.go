package bitbucket

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// strategies are the names of the ways to merge.
var strategies = map[forge.MergeMethod]string{
	forge.MergeCommits: "merge_commit", forge.MergeSquash: "squash", forge.MergeRebase: "rebase_fast_forward",
}

// MergePullRequest merges a pull request. The API has no expected head: the head is compared right before, and with what was merged
// afterwards. A push between the two is merged, and is a conflict then, which says so.
func (r *Repository) MergePullRequest(ctx context.Context, number int, m forge.Merge) (string, error) {
	const op = "merge pull request"
	if m.Head == "" {
		return "", r.Fail(forge.ErrInvalid, op, "no commit was checked")
	}
	p, head, err := r.atHead(ctx, number)
	if err != nil {
		return "", err
	}
	if p.State == "OPEN" && head == m.Head {
		refused := r.merge(ctx, number, m)
		if refused != nil && !errors.Is(refused, forge.ErrConflict) && !errors.Is(refused, forge.ErrInvalid) && !errors.Is(refused, forge.ErrUnavailable) {
			return "", refused
		}
		if p, head, err = r.atHead(ctx, number); err != nil {
			return "", err
		}
		if refused != nil && p.State != "MERGED" {
			return "", conflict(refused)
		}
	}
	switch {
	case head != m.Head && p.State == "MERGED":
		return "", r.Fail(forge.ErrConflict, op, "another head was merged: "+head)
	case head != m.Head:
		return "", r.Fail(forge.ErrConflict, op, "the head is "+head+" now")
	case p.State != "MERGED":
		return "", r.Fail(forge.ErrConflict, op, "the pull request is "+strings.ToLower(p.State))
	}
	return r.mergeCommit(ctx, p)
}

// atHead reads a pull request and the whole commit of its head.
func (r *Repository) atHead(ctx context.Context, number int) (pull, string, error) {
	p, err := r.pull(ctx, number)
	if err != nil {
		return p, "", err
	}
	head, err := r.whole(ctx, p.Source)
	return p, head, err
}

// conflict turns the refusal of a merge into a conflict: the API answers 400 if checks or approvals are missing, or branches conflict.
func conflict(refused error) error {
	var e *forge.Error
	if errors.As(refused, &e) && errors.Is(e.Kind, forge.ErrInvalid) {
		e.Kind = forge.ErrConflict
	}
	return refused
}

// merge tries the methods that a repository may allow.
func (r *Repository) merge(ctx context.Context, number int, m forge.Merge) error {
	var err error
	for _, method := range m.Methods() {
		in := map[string]any{"type": "pullrequest_merge_parameters", "merge_strategy": strategies[method], "close_source_branch": false}
		if message := strings.TrimSpace(m.Title + "\n\n" + m.Message); message != "" {
			in["message"] = message
		}
		_, err = r.write(ctx, number, rest.Request{
			Op: "merge pull request", Method: http.MethodPost, Path: rest.Path("pullrequests", number, "merge"), In: in,
		})
		var e *forge.Error
		if !errors.As(err, &e) || !strings.Contains(strings.ToLower(e.Detail), "strategy") {
			break
		}
	}
	return err
}
