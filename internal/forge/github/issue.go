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
	options := &github.IssueListByRepoOptions{State: "all", Sort: "created", Direction: "desc", ListOptions: perPage}
	if f.State != "" {
		options.State = string(f.State)
	}
	if f.Label != "" {
		options.Labels = []string{f.Label}
	}
	list := r.forge.client.Issues.ListByRepoIter(findIssues.on(ctx), r.owner, r.name, options)
	all, err := collect(r, findIssues, list, same, func(i *github.Issue) bool { return i != nil && !i.IsPullRequest() }, 0)
	var issues []forge.Issue
	for _, found := range all {
		if i := issueOf(found); f.Matches(i) {
			issues = append(issues, i)
		}
	}
	return issues, err
}

// OpenIssue opens an issue.
func (r *Repository) OpenIssue(ctx context.Context, n forge.NewIssue) (forge.Issue, error) {
	limits := r.forge.Limits()
	i, answer, err := r.forge.client.Issues.Create(openIssue.on(ctx), r.owner, r.name, github.CreateIssueRequest{
		Title: forge.OneLine(n.Title, limits.Title), Body: new(forge.Cut(n.Body, limits.Body)), Labels: n.Labels,
	})
	return issueOf(i), r.explain(openIssue, answer, err)
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
	_, answer, err := r.forge.client.Issues.Update(editIssue.on(ctx), r.owner, r.name, number, edit)
	return r.explain(editIssue, answer, err)
}
