package github

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// issue is an issue. Pull requests are issues, too.
type issue struct {
	Number      int             `json:"number"`
	HTMLURL     string          `json:"html_url"`
	Title       string          `json:"title"`
	Body        string          `json:"body"`
	State       string          `json:"state"`
	User        user            `json:"user"`
	ClosedBy    user            `json:"closed_by"`
	Labels      []label         `json:"labels"`
	PullRequest json.RawMessage `json:"pull_request"`
}

// isPullRequest reports whether the issue is that of a pull request.
func (i issue) isPullRequest() bool { return len(i.PullRequest) > 0 && string(i.PullRequest) != "null" }

func issueOf(i issue) forge.Issue {
	return forge.Issue{
		Number: i.Number, URL: i.HTMLURL, Title: i.Title, Body: i.Body, State: forge.State(i.State), Author: i.User.Login, Labels: labelNames(i.Labels),
	}
}

// FindIssues lists issues, newest first.
func (r *Repository) FindIssues(ctx context.Context, f forge.IssueFilter) ([]forge.Issue, error) {
	q := findIssues.read("/issues", nil)
	q.Query = url.Values{"state": {"all"}, "sort": {"created"}, "direction": {"desc"}}
	if f.State != "" {
		q.Query.Set("state", string(f.State))
	}
	if f.Label != "" {
		q.Query.Set("labels", f.Label)
	}
	var issues []forge.Issue
	err := rest.List(ctx, &r.Repository, q, func(found issue) bool {
		if i := issueOf(found); !found.isPullRequest() && f.Matches(i) {
			issues = append(issues, i)
		}
		return true
	})
	return issues, err
}

// OpenIssue opens an issue.
func (r *Repository) OpenIssue(ctx context.Context, n forge.NewIssue) (forge.Issue, error) {
	limits := r.forge.Limits()
	in := map[string]any{"title": forge.OneLine(n.Title, limits.Title), "body": forge.Cut(n.Body, limits.Body)}
	if len(n.Labels) > 0 {
		in["labels"] = n.Labels
	}
	var opened issue
	err := r.Do(ctx, openIssue.write(http.MethodPost, "/issues", in, &opened))
	return issueOf(opened), err
}

// EditIssue edits an issue.
func (r *Repository) EditIssue(ctx context.Context, number int, e forge.IssueEdit) error {
	if e.Empty() {
		return nil
	}
	return r.Do(ctx, editIssue.write(http.MethodPatch, rest.Path("issues", number), r.edit(e.Title, e.Body, e.State), nil))
}

// edit returns the fields to change of an issue or a pull request.
func (r *Repository) edit(title, body *string, state *forge.State) map[string]string {
	limits, in := r.forge.Limits(), map[string]string{}
	if title != nil {
		in["title"] = forge.OneLine(*title, limits.Title)
	}
	if body != nil {
		in["body"] = forge.Cut(*body, limits.Body)
	}
	if state != nil {
		in["state"] = string(*state)
	}
	return in
}
