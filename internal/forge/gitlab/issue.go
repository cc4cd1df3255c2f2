package gitlab

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

type issue struct {
	Number      int      `json:"iid"`
	WebURL      string   `json:"web_url"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	State       string   `json:"state"`
	Author      *user    `json:"author"`
	Labels      []string `json:"labels"`
}

func (i issue) issue() forge.Issue {
	state := forge.Open
	if i.State == "closed" {
		state = forge.Closed
	}
	return forge.Issue{
		Number: i.Number, URL: i.WebURL, Title: i.Title, Body: i.Description, State: state,
		Author: i.Author.name(), Labels: slices.Sorted(slices.Values(i.Labels)),
	}
}

// FindIssues lists issues, newest first.
func (r *Repository) FindIssues(ctx context.Context, f forge.IssueFilter) ([]forge.Issue, error) {
	query := url.Values{"state": {states[f.State]}, "order_by": {"created_at"}, "sort": {"desc"}}
	if f.Label != "" {
		query.Set("labels", f.Label)
	}
	request := rest.Request{Op: "find issues", Path: "/issues", Query: query}
	issues, err := rest.Select(ctx, &r.Repository, request, issue.issue, f.Matches, 0)
	slices.SortStableFunc(issues, func(a, b forge.Issue) int { return b.Number - a.Number })
	return issues, err
}

// OpenIssue opens an issue.
func (r *Repository) OpenIssue(ctx context.Context, n forge.NewIssue) (forge.Issue, error) {
	var opened issue
	err := r.Do(ctx, rest.Request{
		Op: "open issue", Method: http.MethodPost, Path: "/issues", Out: &opened,
		In: map[string]any{
			"title": r.title(n.Title, false), "description": forge.Cut(n.Body, r.forge.Limits().Body),
			"labels": strings.Join(n.Labels, ","),
		},
	})
	if err != nil {
		return forge.Issue{}, err
	}
	return opened.issue(), nil
}

// EditIssue edits an issue.
func (r *Repository) EditIssue(ctx context.Context, number int, e forge.IssueEdit) error {
	if e.Empty() {
		return nil
	}
	return r.Do(ctx, rest.Request{
		Op: "edit issue", Method: http.MethodPut, Path: rest.Path("issues", number), In: r.edit(e.Title, false, e.Body, e.State),
	})
}
