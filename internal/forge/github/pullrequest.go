package github

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/go-github/v92/github"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// pullRequestOf converts a pull request. Null values become zero values.
func pullRequestOf(p *github.PullRequest) forge.PullRequest {
	if p == nil {
		return forge.PullRequest{}
	}
	c := forge.PullRequest{
		Number: p.GetNumber(), URL: p.GetHTMLURL(), Title: p.GetTitle(), Body: p.GetBody(), State: forge.State(p.GetState()),
		Draft: p.GetDraft(), Author: p.GetUser().GetLogin(), EndedAt: p.GetClosedAt().Time,
		Head:  forge.Ref{Branch: p.GetHead().GetRef(), Commit: p.GetHead().GetSHA(), Fork: forkOf(p)},
		Base:  forge.Ref{Branch: p.GetBase().GetRef(), Commit: p.GetBase().GetSHA()},
		Fetch: fmt.Sprintf("refs/pull/%d/head", p.GetNumber()), Labels: labelNames(p.Labels), CreatedAt: p.GetCreatedAt().Time,
	}
	if p.MergedAt != nil {
		c.State, c.EndedBy, c.MergeCommit = forge.Merged, p.GetMergedBy().GetLogin(), p.GetMergeCommitSHA()
	}
	if p.Mergeable != nil && c.State == forge.Open {
		c.Mergeable = forge.MergeableNo
		if *p.Mergeable {
			c.Mergeable = forge.MergeableYes
		}
	}
	return c
}

// forkOf returns the head's repository if it is a fork.
func forkOf(p *github.PullRequest) string {
	head, base := p.GetHead().GetRepo(), p.GetBase().GetRepo()
	switch {
	case head == nil:
		return "unknown"
	case head.GetID() == base.GetID():
		return ""
	}
	return head.GetFullName()
}

func labelNames(labels []*github.Label) []string {
	names := make([]string, 0, len(labels))
	for _, l := range labels {
		names = append(names, l.GetName())
	}
	slices.Sort(names)
	return names
}

// FindPullRequests lists pull requests, newest first.
func (r *Repository) FindPullRequests(ctx context.Context, f forge.PullRequestFilter) ([]forge.PullRequest, error) {
	options := &github.PullRequestListOptions{State: "all", Base: f.Base, Sort: "created", Direction: "desc"}
	switch f.State {
	case forge.Open:
		options.State = "open"
	case forge.Closed, forge.Merged:
		options.State = "closed"
	}
	if f.Head != "" {
		options.Head = r.id.Owner() + ":" + f.Head
	}
	owner, name := r.names()
	var changes []forge.PullRequest
	err := pages(ctx, r, findPullRequests, func(ctx context.Context, at github.ListOptions) ([]*github.PullRequest, *github.Response, error) {
		options.ListOptions = at
		if f.Limit > 0 {
			// Bodies are long, so do not fetch more than needed.
			options.PerPage = min(f.Limit, pageSize)
		}
		return r.forge.client.PullRequests.List(ctx, owner, name, options)
	}, func(p *github.PullRequest) bool {
		if c := pullRequestOf(p); f.Matches(c) {
			changes = append(changes, c)
		}
		return f.Limit == 0 || len(changes) < f.Limit
	})
	return changes, err
}

// PullRequest reads a pull request, and from its issue who closed it.
func (r *Repository) PullRequest(ctx context.Context, number int) (forge.PullRequest, error) {
	p, err := r.pull(ctx, readPullRequest, number)
	if err != nil {
		return forge.PullRequest{}, err
	}
	c := pullRequestOf(p)
	if c.State == forge.Closed {
		owner, name := r.names()
		issue, answer, err := r.forge.client.Issues.Get(readPullRequest.on(ctx), owner, name, number)
		if err != nil {
			return c, r.explain(readPullRequest, answer, err)
		}
		c.EndedBy = issue.GetClosedBy().GetLogin()
	}
	return c, nil
}

func (r *Repository) pull(ctx context.Context, o operation, number int) (*github.PullRequest, error) {
	owner, name := r.names()
	p, answer, err := r.forge.client.PullRequests.Get(o.on(ctx), owner, name, number)
	return p, r.explain(o, answer, err)
}

// OpenPullRequest opens a pull request.
func (r *Repository) OpenPullRequest(ctx context.Context, n forge.NewPullRequest) (forge.PullRequest, error) {
	limits := r.forge.Limits()
	owner, name := r.names()
	p, answer, err := r.forge.client.PullRequests.Create(openPullRequest.on(ctx), owner, name, github.CreatePullRequest{
		Head: n.Head, Base: n.Base, Title: new(forge.OneLine(n.Title, limits.Title)), Body: new(forge.Cut(n.Body, limits.Body)),
		Draft: &n.Draft,
	})
	if err != nil {
		return forge.PullRequest{}, r.explain(openPullRequest, answer, err)
	}
	return pullRequestOf(p), nil
}

// EditPullRequest edits a pull request.
func (r *Repository) EditPullRequest(ctx context.Context, number int, e forge.PullRequestEdit) error {
	if e.Empty() {
		return nil
	}
	limits := r.forge.Limits()
	edit := &github.PullRequest{}
	if e.Title != nil {
		edit.Title = new(forge.OneLine(*e.Title, limits.Title))
	}
	if e.Body != nil {
		edit.Body = new(forge.Cut(*e.Body, limits.Body))
	}
	if e.Base != nil {
		edit.Base = &github.PullRequestBranch{Ref: e.Base}
	}
	if e.State != nil {
		edit.State = new(string(*e.State))
	}
	owner, name := r.names()
	_, answer, err := r.forge.client.PullRequests.Edit(editPullRequest.on(ctx), owner, name, number, edit)
	return r.explain(editPullRequest, answer, err)
}
