package github

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-github/v92/github"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// pullRequestOf converts a pull request. Null values become zero values.
func pullRequestOf(p *github.PullRequest) forge.PullRequest {
	if p == nil {
		return forge.PullRequest{}
	}
	result := forge.PullRequest{
		Number: p.GetNumber(), URL: p.GetHTMLURL(), Title: p.GetTitle(), Body: p.GetBody(), State: forge.State(p.GetState()),
		Draft: p.GetDraft(), Author: p.GetUser().GetLogin(), AuthorAccount: account(p.GetUser()), EndedAt: p.GetClosedAt().Time,
		Head:  forge.Ref{Branch: p.GetHead().GetRef(), Commit: p.GetHead().GetSHA(), Fork: forkOf(p)},
		Base:  forge.Ref{Branch: p.GetBase().GetRef(), Commit: p.GetBase().GetSHA()},
		Fetch: fmt.Sprintf("refs/pull/%d/head", p.GetNumber()), Labels: labelNames(p.Labels), CreatedAt: p.GetCreatedAt().Time,
	}
	if p.MergedAt != nil {
		result.State, result.EndedBy, result.MergeCommit = forge.Merged, p.GetMergedBy().GetLogin(), p.GetMergeCommitSHA()
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
	options := &github.PullRequestListOptions{State: "all", Base: f.Base, Sort: "created", Direction: "desc", ListOptions: perPage}
	switch f.State {
	case forge.Open:
		options.State = "open"
	case forge.Closed, forge.Merged:
		options.State = "closed"
	}
	if f.Head != "" {
		options.Head = r.owner + ":" + f.Head
	}
	if f.Limit > 0 {
		// Bodies are long, so do not fetch more than needed.
		options.PerPage = min(f.Limit, pageSize)
	}
	list := r.forge.client.PullRequests.ListIter(findPullRequests.on(ctx), r.owner, r.name, options)
	return collect(r, findPullRequests, list, pullRequestOf, f.Matches, f.Limit)
}

// PullRequest reads a pull request, and from its issue who closed it.
func (r *Repository) PullRequest(ctx context.Context, number int) (forge.PullRequest, error) {
	p, err := r.pull(ctx, readPullRequest, number)
	if err != nil {
		return forge.PullRequest{}, err
	}
	result := pullRequestOf(p)
	if result.State == forge.Closed {
		issue, answer, err := r.forge.client.Issues.Get(readPullRequest.on(ctx), r.owner, r.name, number)
		if err != nil {
			return result, r.explain(readPullRequest, answer, err)
		}
		result.EndedBy = issue.GetClosedBy().GetLogin()
	}
	return result, nil
}

func (r *Repository) pull(ctx context.Context, o operation, number int) (*github.PullRequest, error) {
	p, answer, err := r.forge.client.PullRequests.Get(o.on(ctx), r.owner, r.name, number)
	return p, r.explain(o, answer, err)
}

// OpenPullRequest opens a pull request.
func (r *Repository) OpenPullRequest(ctx context.Context, n forge.NewPullRequest) (forge.PullRequest, error) {
	limits := r.forge.Limits()
	p, answer, err := r.forge.client.PullRequests.Create(openPullRequest.on(ctx), r.owner, r.name, github.CreatePullRequest{
		Head: n.Head, Base: n.Base, Title: new(forge.OneLine(n.Title, limits.Title)), Body: new(forge.Cut(n.Body, limits.Body)),
		Draft: &n.Draft,
	})
	return pullRequestOf(p), r.moved(ctx, r.explain(openPullRequest, answer, err))
}

// moved returns an error that says so if the repository was renamed or transferred: GitHub redirects most requests, but does not find
// branches by the old owner.
func (r *Repository) moved(ctx context.Context, err error) error {
	if !errors.Is(err, forge.ErrInvalid) && !errors.Is(err, forge.ErrNotFound) {
		return err
	}
	now, _, readErr := r.forge.client.Repositories.Get(openPullRequest.on(ctx), r.owner, r.name)
	if readErr != nil || strings.EqualFold(now.GetFullName(), r.owner+"/"+r.name) {
		return err
	}
	return &forge.Error{
		Kind: forge.ErrNotFound, Op: openPullRequest.name, Where: r.id.String(), Detail: "the repository moved to " + now.GetFullName(),
		Hint: "update its URL",
	}
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
	_, answer, err := r.forge.client.PullRequests.Edit(editPullRequest.on(ctx), r.owner, r.name, number, edit)
	return r.explain(editPullRequest, answer, err)
}
