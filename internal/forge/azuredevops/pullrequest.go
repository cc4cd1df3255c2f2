package azuredevops

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// pullRequest is a pull request as the API describes it.
type pullRequest struct {
	Number      int        `json:"pullRequestId"`
	Status      string     `json:"status"`
	Title       string     `json:"title"`
	Description string     `json:"description"`
	Draft       bool       `json:"isDraft"`
	CreatedBy   *identity  `json:"createdBy"`
	ClosedBy    *identity  `json:"closedBy"`
	CreatedAt   time.Time  `json:"creationDate"`
	ClosedAt    *time.Time `json:"closedDate"`
	Source      string     `json:"sourceRefName"`
	Target      string     `json:"targetRefName"`
	MergeStatus string     `json:"mergeStatus"`
	// Head is the source's commit, Base the target's. Merge joins them: a trial merge until the pull request is completed.
	Head   commitRef  `json:"lastMergeSourceCommit"`
	Base   commitRef  `json:"lastMergeTargetCommit"`
	Merge  commitRef  `json:"lastMergeCommit"`
	Labels []label    `json:"labels"`
	Fork   *forkedRef `json:"forkSource"`
	// Reviewers are part of a single pull request.
	Reviewers []vote `json:"reviewers"`
}

type commitRef struct {
	ID string `json:"commitId"`
}

type forkedRef struct {
	Repository struct {
		Name    string `json:"name"`
		Project struct {
			Name string `json:"name"`
		} `json:"project"`
	} `json:"repository"`
}

// The states of pull requests.
const (
	active    = "active"
	abandoned = "abandoned"
	completed = "completed"
)

const heads = "refs/heads/"

func (r *Repository) convert(p pullRequest) forge.PullRequest {
	result := forge.PullRequest{
		Number: p.Number, Title: p.Title, Body: p.Description, State: forge.Open, Draft: p.Draft, Author: p.CreatedBy.name(), AuthorAccount: p.CreatedBy.account(),
		URL:   r.forge.site.URL() + rest.Path(r.organization, r.project, "_git", r.name) + fmt.Sprintf("/pullrequest/%d", p.Number),
		Head:  forge.Ref{Branch: strings.TrimPrefix(p.Source, heads), Commit: p.Head.ID, Fork: r.fork(p)},
		Base:  forge.Ref{Branch: strings.TrimPrefix(p.Target, heads), Commit: p.Base.ID},
		Fetch: r.fetch(p), Labels: labelNames(p.Labels), CreatedAt: p.CreatedAt, Mergeable: p.mergeable(),
	}
	if p.Status == active {
		return result
	}
	result.State, result.EndedBy = forge.Closed, p.ClosedBy.name()
	if p.ClosedAt != nil {
		result.EndedAt = *p.ClosedAt
	}
	if p.Status == completed {
		result.State, result.MergeCommit = forge.Merged, p.Merge.ID
	}
	return result
}

func (r *Repository) fork(p pullRequest) string {
	if p.Fork == nil {
		return ""
	}
	source := p.Fork.Repository
	if source.Name == "" || source.Project.Name == "" {
		return "unknown"
	}
	return r.organization + "/" + source.Project.Name + "/" + source.Name
}

// fetch returns the ref to fetch the head from: the branch itself. For forks there is only the trial merge,
// whose second parent is the head.
func (r *Repository) fetch(p pullRequest) string {
	if p.Fork == nil && p.Status == active {
		return p.Source
	}
	return fmt.Sprintf("refs/pull/%d/merge", p.Number)
}

func (p pullRequest) mergeable() forge.Mergeable {
	switch {
	case p.Status != active:
	case p.MergeStatus == "succeeded":
		return forge.MergeableYes
	case p.MergeStatus == "conflicts":
		return forge.MergeableNo
	}
	return forge.MergeableUnknown
}

// statuses maps states of pull requests to those of filters.
var statuses = map[forge.State]string{"": "all", forge.Open: active, forge.Closed: abandoned, forge.Merged: completed}

// shortened is the maximum length of texts in lists.
const shortened = 400

// FindPullRequests lists pull requests, newest first. If the list has only the beginning of a text, the full text
// is read separately, except for merged pull requests.
func (r *Repository) FindPullRequests(ctx context.Context, f forge.PullRequestFilter) ([]forge.PullRequest, error) {
	query := url.Values{"searchCriteria.status": {statuses[f.State]}}
	if f.Head != "" {
		query.Set("searchCriteria.sourceRefName", heads+f.Head)
	}
	if f.Base != "" {
		query.Set("searchCriteria.targetRefName", heads+f.Base)
	}
	request := r.paged(rest.Request{Op: "find pull requests", Path: "/pullrequests", Query: query}, "$")
	found, err := rest.Select(ctx, &r.Repository, request, r.convert, f.Matches, f.Limit)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(found, func(a, b forge.PullRequest) int { return b.Number - a.Number })
	for i := range found {
		p := &found[i]
		p.Mergeable = forge.MergeableUnknown
		if p.State == forge.Merged || units(p.Body) < shortened {
			continue
		}
		whole, err := r.pullRequest(ctx, p.Number)
		if err != nil {
			return nil, err
		}
		p.Body = whole.Description
	}
	return found, nil
}

// PullRequest reads a pull request and its labels, which take a second request.
func (r *Repository) PullRequest(ctx context.Context, number int) (forge.PullRequest, error) {
	p, err := r.pullRequest(ctx, number)
	if err != nil {
		return forge.PullRequest{}, err
	}
	if p.Labels, err = r.labels(ctx, number); err != nil {
		return forge.PullRequest{}, err
	}
	return r.convert(p), nil
}

func (r *Repository) pullRequest(ctx context.Context, number int) (pullRequest, error) {
	var p pullRequest
	return p, r.do(ctx, rest.Request{Op: "read pull request", Path: pull(number), Out: &p})
}

// OpenPullRequest opens a pull request, and repeats its head's statuses on it, where policies see them.
func (r *Repository) OpenPullRequest(ctx context.Context, n forge.NewPullRequest) (forge.PullRequest, error) {
	limits := r.forge.Limits()
	var p pullRequest
	err := r.do(ctx, rest.Request{
		Op: "open pull request", Method: http.MethodPost, Path: "/pullrequests", Out: &p,
		In: map[string]any{
			"sourceRefName": heads + n.Head, "targetRefName": heads + n.Base, "isDraft": n.Draft,
			"title": fit(forge.OneLine(n.Title, limits.Title), limits.Title), "description": fit(n.Body, limits.Body),
		},
	})
	if err != nil {
		return forge.PullRequest{}, err
	}
	return r.convert(p), r.inform(ctx, p)
}

// EditPullRequest edits a pull request.
func (r *Repository) EditPullRequest(ctx context.Context, number int, e forge.PullRequestEdit) error {
	if e.Empty() {
		return nil
	}
	limits := r.forge.Limits()
	in := map[string]any{}
	if e.Title != nil {
		in["title"] = fit(forge.OneLine(*e.Title, limits.Title), limits.Title)
	}
	if e.Body != nil {
		in["description"] = fit(*e.Body, limits.Body)
	}
	if e.Base != nil {
		in["targetRefName"] = heads + *e.Base
	}
	if e.State != nil {
		p, err := r.pullRequest(ctx, number)
		if err != nil {
			return err
		}
		switch now := r.convert(p).State; {
		case now == forge.Merged:
			return r.Fail(forge.ErrConflict, "edit pull request", "it is merged")
		case now != *e.State:
			in["status"] = statuses[*e.State]
		}
	}
	if len(in) == 0 {
		return nil
	}
	return r.do(ctx, rest.Request{Op: "edit pull request", Method: http.MethodPatch, Path: pull(number), In: in})
}
