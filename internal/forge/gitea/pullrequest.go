package gitea

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// pull is a pull request as the API describes it.
type pull struct {
	Number      int        `json:"number"`
	HTMLURL     string     `json:"html_url"`
	Title       string     `json:"title"`
	Body        string     `json:"body"`
	State       string     `json:"state"`
	Draft       bool       `json:"draft"`
	User        user       `json:"user"`
	Labels      []label    `json:"labels"`
	Mergeable   bool       `json:"mergeable"`
	Merged      bool       `json:"merged"`
	MergedBy    *user      `json:"merged_by"`
	MergeCommit *string    `json:"merge_commit_sha"`
	Head        end        `json:"head"`
	Base        end        `json:"base"`
	CreatedAt   time.Time  `json:"created_at"`
	ClosedAt    *time.Time `json:"closed_at"`
}

// end is the head or base of a pull request. Label keeps the branch's name after its deletion; Ref does not.
type end struct {
	Label string `json:"label"`
	SHA   string `json:"sha"`
	Repo  *struct {
		ID       int    `json:"id"`
		FullName string `json:"full_name"`
	} `json:"repo"`
}

func (p pull) pullRequest() forge.PullRequest {
	result := forge.PullRequest{
		Number: p.Number, URL: p.HTMLURL, Title: p.Title, Body: p.Body, State: forge.State(p.State), Draft: p.Draft,
		Author: p.User.Login, AuthorAccount: p.User.account(), Head: forge.Ref{Branch: p.Head.Label, Commit: p.Head.SHA, Fork: p.fork()},
		Base: forge.Ref{Branch: p.Base.Label, Commit: p.Base.SHA}, Fetch: fmt.Sprintf("refs/pull/%d/head", p.Number),
		Labels: labelNames(p.Labels), CreatedAt: p.CreatedAt,
	}
	if p.ClosedAt != nil && result.State != forge.Open {
		result.EndedAt = *p.ClosedAt
	}
	if p.Merged {
		result.State = forge.Merged
		if p.MergedBy != nil {
			result.EndedBy = p.MergedBy.Login
		}
		if p.MergeCommit != nil {
			result.MergeCommit = *p.MergeCommit
		}
	}
	return result
}

// fork returns the head's repository if it is a fork.
func (p pull) fork() string {
	switch {
	case p.Head.Repo == nil:
		return "unknown"
	case p.Base.Repo != nil && p.Base.Repo.ID == p.Head.Repo.ID:
		return ""
	}
	return p.Head.Repo.FullName
}

// FindPullRequests lists pull requests, newest first, which is the API's order.
func (r *Repository) FindPullRequests(ctx context.Context, f forge.PullRequestFilter) ([]forge.PullRequest, error) {
	query := url.Values{"state": {"all"}}
	switch f.State {
	case forge.Open:
		query.Set("state", "open")
	case forge.Closed, forge.Merged:
		query.Set("state", "closed")
	}
	if f.Base != "" {
		query.Set("base_branch", f.Base)
	}
	request := rest.Request{Op: "find pull requests", Path: "/pulls", Query: query}
	return rest.Select(ctx, &r.Repository, request, pull.pullRequest, f.Matches, f.Limit)
}

// PullRequest reads a pull request, and from its timeline who closed it.
func (r *Repository) PullRequest(ctx context.Context, number int) (forge.PullRequest, error) {
	p, err := r.pull(ctx, number)
	if err != nil {
		return forge.PullRequest{}, err
	}
	result := p.pullRequest()
	switch result.State {
	case forge.Open:
		// Not mergeable can also mean that the forge has not computed it yet.
		if p.Mergeable {
			result.Mergeable = forge.MergeableYes
		}
	case forge.Closed:
		err = r.timeline(ctx, number, func(e event) {
			if e.Type == "close" {
				result.EndedBy = e.User.Login
			}
		})
	}
	return result, err
}

func (r *Repository) pull(ctx context.Context, number int) (pull, error) {
	var p pull
	return p, r.Do(ctx, rest.Request{Op: "read pull request", Path: rest.Path("pulls", number), Out: &p})
}

// event is an entry of a pull request's timeline.
type event struct {
	Type  string `json:"type"`
	User  user   `json:"user"`
	Body  string `json:"body"`
	Label *label `json:"label"`
}

// timeline passes all events to use, oldest first.
func (r *Repository) timeline(ctx context.Context, number int, use func(event)) error {
	request := rest.Request{Op: "read timeline", Path: rest.Path("issues", number, "timeline"), Next: unlinked}
	return rest.List(ctx, &r.Repository, request, func(e event) bool {
		use(e)
		return true
	})
}

// OpenPullRequest opens a pull request. A prefix of its title marks a draft.
func (r *Repository) OpenPullRequest(ctx context.Context, n forge.NewPullRequest) (forge.PullRequest, error) {
	limits := r.forge.Limits()
	if n.Draft {
		n.Title = "WIP: " + n.Title
	}
	var p pull
	err := r.Do(ctx, rest.Request{
		Op: "open pull request", Method: http.MethodPost, Path: "/pulls", Out: &p,
		In: map[string]any{
			"head": n.Head, "base": n.Base, "title": forge.OneLine(n.Title, limits.Title), "body": forge.Cut(n.Body, limits.Body),
		},
	})
	return p.pullRequest(), err
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
	return r.Do(ctx, rest.Request{Op: "edit pull request", Method: http.MethodPatch, Path: rest.Path("pulls", number), In: in})
}

// edit returns the fields that pull requests and issues share.
func (r *Repository) edit(title, body *string, state *forge.State) map[string]any {
	limits := r.forge.Limits()
	in := map[string]any{}
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

func labelNames(labels []label) []string {
	names := make([]string, 0, len(labels))
	for _, l := range labels {
		names = append(names, l.Name)
	}
	slices.Sort(names)
	return names
}
