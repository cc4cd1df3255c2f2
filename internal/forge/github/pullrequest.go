package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// pullRequest is a pull request.
type pullRequest struct {
	Number         int        `json:"number"`
	NodeID         string     `json:"node_id"`
	HTMLURL        string     `json:"html_url"`
	Title          string     `json:"title"`
	Body           string     `json:"body"`
	State          string     `json:"state"`
	Draft          bool       `json:"draft"`
	User           user       `json:"user"`
	Head           ref        `json:"head"`
	Base           ref        `json:"base"`
	Labels         []label    `json:"labels"`
	Mergeable      *bool      `json:"mergeable"`
	MergeCommitSHA string     `json:"merge_commit_sha"`
	MergedBy       user       `json:"merged_by"`
	MergedAt       *time.Time `json:"merged_at"`
	CreatedAt      time.Time  `json:"created_at"`
	UpdatedAt      time.Time  `json:"updated_at"`
	ClosedAt       time.Time  `json:"closed_at"`
}

// ref is an end of a pull request. The repository is absent if it was deleted.
type ref struct {
	Ref  string `json:"ref"`
	SHA  string `json:"sha"`
	Repo *struct {
		ID       int64  `json:"id"`
		FullName string `json:"full_name"`
	} `json:"repo"`
}

// pullRequestOf converts a pull request. Null values become zero values.
func pullRequestOf(p pullRequest) forge.PullRequest {
	result := forge.PullRequest{
		Number: p.Number, URL: p.HTMLURL, Title: p.Title, Body: p.Body, State: forge.State(p.State),
		Draft: p.Draft, Author: p.User.Login, AuthorAccount: account(p.User), EndedAt: p.ClosedAt,
		Head:  forge.Ref{Branch: p.Head.Ref, Commit: p.Head.SHA, Fork: forkOf(p)},
		Base:  forge.Ref{Branch: p.Base.Ref, Commit: p.Base.SHA},
		Fetch: fmt.Sprintf("refs/pull/%d/head", p.Number), Labels: labelNames(p.Labels), CreatedAt: p.CreatedAt,
	}
	if p.MergedAt != nil {
		result.State, result.EndedBy, result.MergeCommit = forge.Merged, p.MergedBy.Login, p.MergeCommitSHA
	}
	if p.Mergeable != nil && result.State == forge.Open {
		result.Mergeable = forge.MergeableNo
		if *p.Mergeable {
			result.Mergeable = forge.MergeableYes
		}
	}
	return result
}

// forkOf returns the head's repository if it is a fork.
func forkOf(p pullRequest) string {
	switch {
	case p.Head.Repo == nil:
		return "unknown"
	case p.Base.Repo != nil && p.Head.Repo.ID == p.Base.Repo.ID:
		return ""
	}
	return p.Head.Repo.FullName
}

// FindPullRequests lists pull requests, newest first.
func (r *Repository) FindPullRequests(ctx context.Context, f forge.PullRequestFilter) ([]forge.PullRequest, error) {
	query := url.Values{"state": {"all"}, "sort": {"created"}, "direction": {"desc"}}
	switch f.State {
	case forge.Open:
		query.Set("state", "open")
	case forge.Closed, forge.Merged:
		query.Set("state", "closed")
	}
	if f.Base != "" {
		query.Set("base", f.Base)
	}
	if f.Head != "" {
		query.Set("head", r.owner+":"+f.Head)
	}
	if f.Limit > 0 {
		// Bodies are long, so do not fetch more than needed.
		query.Set("per_page", strconv.Itoa(min(f.Limit, pageSize)))
	}
	q := findPullRequests.read("/pulls", nil)
	q.Query = query
	return rest.Select(ctx, &r.Repository, q, pullRequestOf, f.Matches, f.Limit)
}

// PullRequest reads a pull request, and from its issue who closed it.
func (r *Repository) PullRequest(ctx context.Context, number int) (forge.PullRequest, error) {
	p, err := r.pull(ctx, readPullRequest, number)
	if err != nil {
		return forge.PullRequest{}, err
	}
	result := pullRequestOf(p)
	if result.State == forge.Closed {
		var closed issue
		if err := r.Do(ctx, readPullRequest.read(rest.Path("issues", number), &closed)); err != nil {
			return result, err
		}
		result.EndedBy = closed.ClosedBy.Login
	}
	return result, nil
}

func (r *Repository) pull(ctx context.Context, o operation, number int) (p pullRequest, err error) {
	return p, r.Do(ctx, o.read(rest.Path("pulls", number), &p))
}

// OpenPullRequest opens a pull request.
func (r *Repository) OpenPullRequest(ctx context.Context, n forge.NewPullRequest) (forge.PullRequest, error) {
	limits := r.forge.Limits()
	var p pullRequest
	err := r.Do(ctx, openPullRequest.write(http.MethodPost, "/pulls", map[string]any{
		"head": n.Head, "base": n.Base, "title": forge.OneLine(n.Title, limits.Title), "body": forge.Cut(n.Body, limits.Body), "draft": n.Draft,
	}, &p))
	if err != nil {
		return forge.PullRequest{}, r.moved(ctx, err)
	}
	return pullRequestOf(p), nil
}

// moved returns an error that says so if the repository was renamed or transferred: GitHub redirects most requests, but does not find
// branches by the old owner.
func (r *Repository) moved(ctx context.Context, err error) error {
	if !errors.Is(err, forge.ErrInvalid) && !errors.Is(err, forge.ErrNotFound) {
		return err
	}
	var now struct {
		FullName string `json:"full_name"`
	}
	if r.Do(ctx, openPullRequest.read("", &now)) != nil || strings.EqualFold(now.FullName, r.Of.Path) {
		return err
	}
	e := r.Fail(forge.ErrNotFound, openPullRequest.name, "the repository moved to "+now.FullName)
	e.Hint = "update its URL"
	return e
}

// EditPullRequest edits a pull request.
func (r *Repository) EditPullRequest(ctx context.Context, number int, e forge.PullRequestEdit) error {
	if e.Empty() {
		return nil
	}
	in := r.edit(e.Title, e.Body, e.State)
	if e.Base != nil {
		in["base"] = *e.Base
	}
	return r.Do(ctx, editPullRequest.write(http.MethodPatch, rest.Path("pulls", number), in, nil))
}
