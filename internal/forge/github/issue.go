package github

import (
	"context"

	"github.com/google/go-github/v92/github"

	"github.com/kalypso-io/kalypso/internal/forge"
)

func issueOf(i *github.Issue) forge.Issue {
	if i == nil {
		return forge.Issue{}
	}
	return forge.Issue{
		Number: i.GetNumber(), URL: i.GetHTMLURL(), Title: i.GetTitle(), Body: i.GetBody(), State: forge.State(i.GetState()),
		Author: i.GetUser().GetLogin(), Labels: labelNames(i.Labels),
	}
}

// FindIssues lists issues, newest first.
func (r *Repository) FindIssues(ctx context.Context, f forge.IssueFilter) ([]forge.Issue, error) {
	options := &github.IssueListByRepoOptions{State: "all", Sort: "created", Direction: "desc"}
	if f.State != "" {
		options.State = string(f.State)
	}
	if f.Label != "" {
		options.Labels = []string{f.Label}
	}
	owner, name := r.names()
	var issues []forge.Issue
	err := pages(ctx, r, findIssues, func(ctx context.Context, at github.ListOptions) ([]*github.Issue, *github.Response, error) {
		options.ListOptions = at
		return r.forge.client.Issues.ListByRepo(ctx, owner, name, options)
	}, func(found *github.Issue) bool {
		if i := issueOf(found); found != nil && !found.IsPullRequest() && f.Matches(i) {
			issues = append(issues, i)
		}
		return true
	})
	return issues, err
}

// OpenIssue opens an issue.
func (r *Repository) OpenIssue(ctx context.Context, n forge.NewIssue) (forge.Issue, error) {
	limits := r.forge.Limits()
	owner, name := r.names()
	i, answer, err := r.forge.client.Issues.Create(openIssue.on(ctx), owner, name, github.CreateIssueRequest{
		Title: forge.OneLine(n.Title, limits.Title), Body: new(forge.Cut(n.Body, limits.Body)), Labels: n.Labels,
	})
	if err != nil {
		return forge.Issue{}, r.explain(openIssue, answer, err)
	}
	return issueOf(i), nil
}

// EditIssue edits an issue.
func (r *Repository) EditIssue(ctx context.Context, number int, e forge.IssueEdit) error {
	if e.Empty() {
		return nil
	}
	limits := r.forge.Limits()
	edit := github.UpdateIssueRequest{}
	if e.Title != nil {
		edit.Title = new(forge.OneLine(*e.Title, limits.Title))
	}
	if e.Body != nil {
		edit.Body = new(forge.Cut(*e.Body, limits.Body))
	}
	if e.State != nil {
		edit.State = new(string(*e.State))
	}
	owner, name := r.names()
	_, answer, err := r.forge.client.Issues.Update(editIssue.on(ctx), owner, name, number, edit)
	return r.explain(editIssue, answer, err)
}
