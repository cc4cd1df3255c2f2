package bitbucketserver

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// strategies are the IDs of the ways to merge.
var strategies = map[forge.MergeMethod]string{
	forge.MergeCommits: "no-ff", forge.MergeSquash: "squash", forge.MergeRebase: "rebase-no-ff",
}

// MergePullRequest merges a pull request. The API has no expected head: the head is compared before the merge, which is of the version that
// was read then, and with what was merged afterwards.
func (r *Repository) MergePullRequest(ctx context.Context, number int, m forge.Merge) (string, error) {
	const op = "merge pull request"
	if m.Head == "" {
		return "", r.Fail(forge.ErrInvalid, op, "no commit was checked")
	}
	p, err := r.pull(ctx, number)
	if err != nil {
		return "", err
	}
	if p.State == "OPEN" && p.From.Commit == m.Head {
		p, err = r.merge(ctx, p, m)
		if err != nil && !errors.Is(err, forge.ErrConflict) && !errors.Is(err, forge.ErrUnavailable) {
			return "", err
		}
		if err != nil { // it may be merged all the same
			again, readErr := r.pull(ctx, number)
			if readErr != nil || again.State != "MERGED" {
				return "", err
			}
			p = again
		}
	}
	switch {
	case p.From.Commit != m.Head && p.State == "MERGED":
		return "", r.Fail(forge.ErrConflict, op, "another head was merged: "+p.From.Commit)
	case p.From.Commit != m.Head:
		return "", r.Fail(forge.ErrConflict, op, "the head is "+p.From.Commit+" now")
	case p.State != "MERGED":
		return "", r.Fail(forge.ErrConflict, op, "the pull request is "+strings.ToLower(p.State))
	}
	if commit := p.Properties.MergeCommit.ID; commit != "" {
		return commit, nil
	}
	merged, err := r.PullRequest(ctx, number)
	return merged.MergeCommit, err
}

// merge tries the methods that a repository may allow.
func (r *Repository) merge(ctx context.Context, p pull, m forge.Merge) (pull, error) {
	var err error
	for _, method := range m.Methods() {
		in := map[string]any{"version": p.Version, "strategyId": strategies[method]}
		if message := strings.TrimSpace(m.Title + "\n\n" + m.Message); message != "" {
			in["message"] = message
		}
		var after pull
		after, err = r.write(ctx, p, rest.Request{
			Op: "merge pull request", Method: http.MethodPost, Path: rest.Path("pull-requests", p.ID, "merge"),
			Query: url.Values{"version": {strconv.Itoa(p.Version)}}, In: in,
		})
		if err == nil {
			return after, nil
		}
		var e *forge.Error
		if !errors.As(err, &e) || !strings.Contains(strings.ToLower(e.Detail), "strategy") {
			break
		}
	}
	return p, err
}
