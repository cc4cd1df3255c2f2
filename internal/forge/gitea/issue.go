package gitea

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

type issue struct {
	Number  int     `json:"number"`
	HTMLURL string  `json:"html_url"`
	Title   string  `json:"title"`
	Body    string  `json:"body"`
	State   string  `json:"state"`
	User    user    `json:"user"`
	Labels  []label `json:"labels"`
}

func (i issue) issue() forge.Issue {
	return forge.Issue{
		Number: i.Number, URL: i.HTMLURL, Title: i.Title, Body: i.Body, State: forge.State(i.State), Author: i.User.Login,
		Labels: labelNames(i.Labels),
	}
}

// FindIssues lists issues. The API ignores labels that do not exist, so FindIssues checks them again.
func (r *Repository) FindIssues(ctx context.Context, f forge.IssueFilter) ([]forge.Issue, error) {
	query := url.Values{"type": {"issues"}, "state": {"all"}}
	if f.State != "" {
		query.Set("state", string(f.State))
	}
	if f.Label != "" {
		query.Set("labels", f.Label)
	}
	request := rest.Request{Op: "find issues", Path: "/issues", Query: query}
	return rest.Select(ctx, &r.Repository, request, issue.issue, func(i forge.Issue) bool {
		return f.Matches(i) && (f.Label == "" || i.HasLabel(f.Label))
	}, 0)
}

// OpenIssue opens an issue. The API takes labels by number on creation, and by name when adding them.
func (r *Repository) OpenIssue(ctx context.Context, n forge.NewIssue) (forge.Issue, error) {
	limits := r.forge.Limits()
	var opened issue
	err := r.Do(ctx, rest.Request{
		Op: "open issue", Right: writeIssue, Method: http.MethodPost, Path: "/issues", Out: &opened,
		In: map[string]any{"title": forge.OneLine(n.Title, limits.Title), "body": forge.Cut(n.Body, limits.Body)},
	})
	if err != nil {
		return forge.Issue{}, err
	}
	i := opened.issue()
	i.Labels = slices.Sorted(slices.Values(n.Labels))
	return i, r.AddLabels(ctx, i.Number, n.Labels...)
}

// EditIssue edits an issue.
func (r *Repository) EditIssue(ctx context.Context, number int, e forge.IssueEdit) error {
	if e.Empty() {
		return nil
	}
	return r.Do(ctx, rest.Request{
		Op: "edit issue", Right: writeIssue, Method: http.MethodPatch, Path: rest.Path("issues", number),
		In: r.edit(e.Title, e.Body, e.State),
	})
}
