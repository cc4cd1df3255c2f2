package gitlab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// mergeRequest is a merge request as the API describes it. Only a single one has refs.
type mergeRequest struct {
	Number        int        `json:"iid"`
	WebURL        string     `json:"web_url"`
	Title         string     `json:"title"`
	Description   string     `json:"description"`
	State         string     `json:"state"`
	Draft         bool       `json:"draft"`
	Author        *user      `json:"author"`
	MergeUser     *user      `json:"merge_user"`
	MergedBy      *user      `json:"merged_by"` // before GitLab 14.7
	ClosedBy      *user      `json:"closed_by"`
	CreatedAt     time.Time  `json:"created_at"`
	MergedAt      *time.Time `json:"merged_at"`
	ClosedAt      *time.Time `json:"closed_at"`
	SourceBranch  string     `json:"source_branch"`
	TargetBranch  string     `json:"target_branch"`
	SourceProject *int       `json:"source_project_id"`
	TargetProject int        `json:"target_project_id"`
	SHA           string     `json:"sha"`
	MergeCommit   string     `json:"merge_commit_sha"`
	SquashCommit  string     `json:"squash_commit_sha"`
	Labels        []string   `json:"labels"`
	MergeStatus   string     `json:"merge_status"`
	Refs          diffRefs   `json:"diff_refs"`
}

// diffRefs are the commits that a diff compares.
type diffRefs struct {
	Base  string `json:"base_sha"`
	Head  string `json:"head_sha"`
	Start string `json:"start_sha"` // the base branch's head
}

// draftPrefix marks the title of a draft.
const draftPrefix = "Draft: "

func (m mergeRequest) pullRequest() forge.PullRequest {
	p := forge.PullRequest{
		Number: m.Number, URL: m.WebURL, Title: m.Title, Body: m.Description, State: forge.Open, Draft: m.Draft,
		Author: m.Author.name(), AuthorAccount: m.Author.id(), Head: forge.Ref{Branch: m.SourceBranch, Commit: m.SHA, Fork: m.fork()},
		Base: forge.Ref{Branch: m.TargetBranch, Commit: m.Refs.Start}, Fetch: fmt.Sprintf("refs/merge-requests/%d/head", m.Number),
		Labels: slices.Sorted(slices.Values(m.Labels)), CreatedAt: m.CreatedAt,
	}
	if m.Draft {
		p.Title = strings.TrimPrefix(m.Title, draftPrefix)
	}
	switch m.State {
	case "merged":
		p.State, p.EndedBy, p.EndedAt, p.MergeCommit = forge.Merged, m.mergedBy(), at(m.MergedAt), m.commit()
	case "closed":
		p.State, p.EndedBy, p.EndedAt = forge.Closed, m.ClosedBy.name(), at(m.ClosedAt)
	}
	return p
}

// fork reports that the head is in a fork. [Repository.PullRequest] looks up which.
func (m mergeRequest) fork() string {
	if m.SourceProject != nil && *m.SourceProject == m.TargetProject {
		return ""
	}
	return "unknown"
}

func (m mergeRequest) mergedBy() string {
	return cmp.Or(m.MergeUser.name(), m.MergedBy.name())
}

// commit returns the commit that a merge added to the base branch: the squashed commit or the head itself
// in projects without merge commits.
func (m mergeRequest) commit() string {
	return cmp.Or(m.MergeCommit, m.SquashCommit, m.SHA)
}

func (m mergeRequest) mergeable() forge.Mergeable {
	switch {
	case m.State != "opened":
		return forge.MergeableUnknown
	case m.MergeStatus == "can_be_merged":
		return forge.MergeableYes
	case m.MergeStatus == "cannot_be_merged":
		return forge.MergeableNo
	}
	return forge.MergeableUnknown
}

func at(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// states maps states of pull requests to those of list filters.
var states = map[forge.State]string{"": "all", forge.Open: "opened", forge.Closed: "closed", forge.Merged: "merged"}

// FindPullRequests lists merge requests, newest first.
func (r *Repository) FindPullRequests(ctx context.Context, f forge.PullRequestFilter) ([]forge.PullRequest, error) {
	query := url.Values{"state": {states[f.State]}, "order_by": {"created_at"}, "sort": {"desc"}}
	if f.Head != "" {
		query.Set("source_branch", f.Head)
	}
	if f.Base != "" {
		query.Set("target_branch", f.Base)
	}
	// Forks can have branches with the same name, so a page filtered by head can include theirs.
	if f.Head == "" && f.Limit > 0 {
		query.Set("per_page", strconv.Itoa(min(f.Limit, pageSize)))
	}
	request := rest.Request{Op: "find pull requests", Path: "/merge_requests", Query: query}
	found, err := rest.Select(ctx, &r.Repository, request, mergeRequest.pullRequest, f.Matches, f.Limit)
	slices.SortStableFunc(found, func(a, b forge.PullRequest) int { return b.Number - a.Number })
	return found, err
}

// PullRequest reads a merge request and, if its head is in a fork, looks up which.
func (r *Repository) PullRequest(ctx context.Context, number int) (forge.PullRequest, error) {
	m, err := r.mergeRequest(ctx, number)
	if err != nil {
		return forge.PullRequest{}, err
	}
	p := m.pullRequest()
	p.Mergeable = m.mergeable()
	if p.Head.Fork == "" || m.SourceProject == nil {
		return p, nil
	}
	var fork struct {
		Path string `json:"path_with_namespace"`
	}
	err = r.Client.Do(ctx, rest.Request{
		Op: "read fork", Where: r.Of.String(), Path: rest.Path("projects", *m.SourceProject), Out: &fork,
	})
	switch {
	case err == nil:
		p.Head.Fork = fork.Path
	case !errors.Is(err, forge.ErrNotFound) && !errors.Is(err, forge.ErrDenied):
		return forge.PullRequest{}, err
	}
	return p, nil
}

func (r *Repository) mergeRequest(ctx context.Context, number int) (mergeRequest, error) {
	var m mergeRequest
	err := r.Do(ctx, rest.Request{Op: "read pull request", Path: rest.Path("merge_requests", number), Out: &m})
	return m, err
}

// OpenPullRequest opens a merge request.
func (r *Repository) OpenPullRequest(ctx context.Context, n forge.NewPullRequest) (forge.PullRequest, error) {
	var m mergeRequest
	err := r.Do(ctx, rest.Request{
		Op: "open pull request", Method: http.MethodPost, Path: "/merge_requests", Out: &m,
		In: map[string]any{
			"source_branch": n.Head, "target_branch": n.Base, "title": r.title(n.Title, n.Draft),
			"description": forge.Cut(n.Body, r.forge.Limits().Body),
		},
	})
	if err != nil {
		return forge.PullRequest{}, r.archived(ctx, err)
	}
	return m.pullRequest(), nil
}

// archived returns an error that says so if a write was denied because the project is archived. GitLab's own does not.
func (r *Repository) archived(ctx context.Context, err error) error {
	var e *forge.Error
	if !errors.As(err, &e) || e.Status != http.StatusForbidden {
		return err
	}
	var project struct {
		Archived bool `json:"archived"`
	}
	if r.Do(ctx, rest.Request{Op: "read project", Out: &project}) == nil && project.Archived {
		rest.Archived(e)
	}
	return err
}

// title returns a title in GitLab's format.
func (r *Repository) title(title string, draft bool) string {
	limit := r.forge.Limits().Title
	if draft {
		return draftPrefix + forge.OneLine(title, limit-len(draftPrefix))
	}
	return forge.OneLine(title, limit)
}

// EditPullRequest edits a merge request. The title marks a draft, so a new title keeps the prefix.
func (r *Repository) EditPullRequest(ctx context.Context, number int, e forge.PullRequestEdit) error {
	if e.Empty() {
		return nil
	}
	draft := false
	if e.Title != nil {
		m, err := r.mergeRequest(ctx, number)
		if err != nil {
			return err
		}
		draft = m.Draft
	}
	in := r.edit(e.Title, draft, e.Body, e.State)
	if e.Base != nil {
		in["target_branch"] = *e.Base
	}
	var after mergeRequest
	err := r.Do(ctx, rest.Request{
		Op: "edit pull request", Method: http.MethodPut, Path: rest.Path("merge_requests", number), In: in, Out: &after,
	})
	if err != nil {
		return err
	}
	// GitLab silently ignores a transition that is not possible.
	if state := after.pullRequest().State; e.State != nil && state != *e.State {
		return r.Fail(forge.ErrConflict, "edit pull request", "it is "+string(state))
	}
	return nil
}

// edit returns the fields that merge requests and issues share.
func (r *Repository) edit(title *string, draft bool, body *string, state *forge.State) map[string]any {
	in := map[string]any{}
	if title != nil {
		in["title"] = r.title(*title, draft)
	}
	if body != nil {
		in["description"] = forge.Cut(*body, r.forge.Limits().Body)
	}
	if state != nil {
		in["state_event"] = map[forge.State]string{forge.Open: "reopen", forge.Closed: "close"}[*state]
	}
	return in
}
