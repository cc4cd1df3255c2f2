package bitbucketserver

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
	"github.com/kalypso-io/kalypso/internal/forge/texts"
)

// pull is a pull request as the API describes it.
type pull struct {
	ID          int           `json:"id"`
	Version     int           `json:"version"`
	Title       string        `json:"title"`
	Description string        `json:"description"`
	State       string        `json:"state"`
	Draft       bool          `json:"draft"`
	CreatedDate millis        `json:"createdDate"`
	ClosedDate  millis        `json:"closedDate"`
	From        ref           `json:"fromRef"`
	To          ref           `json:"toRef"`
	Author      *participant  `json:"author"`
	Reviewers   []participant `json:"reviewers"`
	Properties  struct {
		MergeCommit struct {
			ID string `json:"id"`
		} `json:"mergeCommit"`
	} `json:"properties"`
	Links struct {
		Self []struct {
			Href string `json:"href"`
		} `json:"self"`
	} `json:"links"`
}

// ref is the head or base of a pull request.
type ref struct {
	ID         string `json:"id"`
	Commit     string `json:"latestCommit"`
	Repository *place `json:"repository"`
}

// place is a repository.
type place struct {
	Slug    string `json:"slug"`
	Project struct {
		Key string `json:"key"`
	} `json:"project"`
}

// path returns the path as in [forge.ID].
func (p *place) path() string {
	if p == nil || p.Slug == "" || p.Project.Key == "" {
		return ""
	}
	return strings.ToLower("scm/" + p.Project.Key + "/" + p.Slug)
}

type user struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	Slug string `json:"slug"`
}

// account returns the ID of an account; empty if it is unknown.
func (u user) account() string {
	if u.ID <= 0 {
		return ""
	}
	return strconv.FormatInt(u.ID, 10)
}

// participant is the author or a reviewer of a pull request.
type participant struct {
	User   user   `json:"user"`
	Status string `json:"status"`
}

// millis is a time in milliseconds since 1970; 0 if it is unknown.
type millis int64

func (m millis) time() time.Time {
	if m <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(m)).UTC()
}

var states = map[string]forge.State{"OPEN": forge.Open, "MERGED": forge.Merged, "DECLINED": forge.Closed}

func (p pull) pullRequest() forge.PullRequest {
	labels, body := texts.Parse(p.Description)
	result := forge.PullRequest{
		Number: p.ID, Title: p.Title, Body: body, State: states[p.State], Draft: p.Draft, Labels: labels,
		Head:  forge.Ref{Branch: strings.TrimPrefix(p.From.ID, heads), Commit: p.From.Commit, Fork: p.fork()},
		Base:  forge.Ref{Branch: strings.TrimPrefix(p.To.ID, heads), Commit: p.To.Commit},
		Fetch: fmt.Sprintf("refs/pull-requests/%d/from", p.ID), CreatedAt: p.CreatedDate.time(),
	}
	if p.Author != nil {
		result.Author, result.AuthorAccount = p.Author.User.Name, p.Author.User.account()
	}
	if len(p.Links.Self) > 0 {
		result.URL = p.Links.Self[0].Href
	}
	if result.State != forge.Open {
		result.EndedAt = p.ClosedDate.time()
	}
	if result.State == forge.Merged {
		result.MergeCommit = p.Properties.MergeCommit.ID
	}
	return result
}

// fork returns the head's repository if it is a fork.
func (p pull) fork() string {
	from := p.From.Repository.path()
	switch from {
	case "":
		return "unknown"
	case p.To.Repository.path():
		return ""
	}
	return from
}

// FindPullRequests lists pull requests. The API selects by one branch.
func (r *Repository) FindPullRequests(ctx context.Context, f forge.PullRequestFilter) ([]forge.PullRequest, error) {
	query := url.Values{"state": {"ALL"}, "order": {"NEWEST"}}
	for name, state := range states {
		if state == f.State {
			query.Set("state", name)
		}
	}
	limit := f.Limit
	switch {
	case f.Head != "":
		query.Set("at", heads+f.Head)
		query.Set("direction", "OUTGOING")
		limit = 0 // few have the same head; so the newest is found in any order
	case f.Base != "":
		query.Set("at", heads+f.Base)
	}
	all, err := rest.Select(ctx, &r.Repository, list(rest.Request{Op: "find pull requests", Path: "/pull-requests", Query: query}),
		func(p pull) pull { return p }, func(p pull) bool {
			return p.To.Repository.path() == r.Of.Path && f.Matches(p.pullRequest())
		}, limit)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b pull) int { return b.ID - a.ID })
	if f.Limit > 0 && len(all) > f.Limit {
		all = all[:f.Limit]
	}
	found := make([]forge.PullRequest, 0, len(all))
	for _, p := range all {
		found = append(found, p.pullRequest())
	}
	return found, nil
}

// PullRequest reads a pull request, whether it merges, and from its activities who ended it.
func (r *Repository) PullRequest(ctx context.Context, number int) (forge.PullRequest, error) {
	p, err := r.pull(ctx, number)
	if err != nil {
		return forge.PullRequest{}, err
	}
	result := p.pullRequest()
	if result.State == forge.Open {
		var merge struct {
			Conflicted *bool `json:"conflicted"`
		}
		err = r.Do(ctx, rest.Request{Op: "read pull request", Path: rest.Path("pull-requests", number, "merge"), Out: &merge})
		if err == nil && merge.Conflicted != nil {
			result.Mergeable = forge.MergeableYes
			if *merge.Conflicted {
				result.Mergeable = forge.MergeableNo
			}
		}
		return result, forge.Ignore(err, forge.ErrConflict) // of a pull request that ended meanwhile
	}
	err = r.activities(ctx, number, func(a activity) bool {
		if a.Action == "MERGED" || a.Action == "DECLINED" { // the newest first
			result.EndedBy = a.User.Name
			if result.State == forge.Merged && result.MergeCommit == "" {
				result.MergeCommit = a.Commit.ID
			}
			return false
		}
		return true
	})
	return result, err
}

// pull reads a pull request. It is never older than what our last write returned.
func (r *Repository) pull(ctx context.Context, number int) (pull, error) {
	var p pull
	if err := r.Do(ctx, rest.Request{Op: "read pull request", Path: rest.Path("pull-requests", number), Out: &p}); err != nil {
		return pull{}, err
	}
	return r.forge.latest.Newest(r.key(number), p, func(written, read pull) bool { return written.Version > read.Version }), nil
}

func (r *Repository) key(number int) string { return fmt.Sprint(r.Of, "#", number) }

// write sends a request that changes a pull request, at the version that was read, and returns it as it is then.
func (r *Repository) write(ctx context.Context, p pull, q rest.Request) (pull, error) {
	var after pull
	q.Right, q.Out = writeRepository, &after
	if err := r.Do(ctx, q); err != nil {
		return p, err
	}
	r.forge.latest.Wrote(r.key(p.ID), after)
	return after, nil
}

// activity is an entry in the history of a pull request.
type activity struct {
	Action      string   `json:"action"`
	CreatedDate millis   `json:"createdDate"`
	User        user     `json:"user"`
	FromHash    string   `json:"fromHash"`
	Previous    string   `json:"previousFromHash"`
	Comment     *comment `json:"comment"`
	// CommentAction is ADDED for the entry of a comment itself.
	CommentAction string  `json:"commentAction"`
	Anchor        *anchor `json:"commentAnchor"`
	Commit        struct {
		ID string `json:"id"`
	} `json:"commit"`
}

// activities passes the history of a pull request to use, the newest first.
func (r *Repository) activities(ctx context.Context, number int, use func(activity) bool) error {
	return rest.List(ctx, &r.Repository, list(rest.Request{Op: "read activities", Path: rest.Path("pull-requests", number, "activities")}), use)
}

// OpenPullRequest opens a pull request, with the default reviewers of the repository.
func (r *Repository) OpenPullRequest(ctx context.Context, n forge.NewPullRequest) (forge.PullRequest, error) {
	limits := r.forge.Limits()
	at := map[string]any{"slug": r.name, "project": map[string]any{"key": r.project}}
	in := map[string]any{
		"title": forge.OneLine(n.Title, limits.Title), "description": texts.Compose(nil, forge.Cut(n.Body, limits.Body)),
		"fromRef": map[string]any{"id": heads + n.Head, "repository": at}, "toRef": map[string]any{"id": heads + n.Base, "repository": at},
	}
	if n.Draft {
		in["draft"] = true
	}
	if reviewers := r.defaultReviewers(ctx, n); len(reviewers) > 0 {
		in["reviewers"] = reviewers
	}
	var p pull
	err := r.Do(ctx, rest.Request{
		Op: "open pull request", Right: readRepository + " and that of the branch", Method: http.MethodPost, Path: "/pull-requests", In: in, Out: &p,
	})
	return p.pullRequest(), err
}

// defaultReviewers returns the reviewers that the page would propose; none if they cannot be read, as they are not needed to open it.
func (r *Repository) defaultReviewers(ctx context.Context, n forge.NewPullRequest) []map[string]any {
	var here struct {
		ID int64 `json:"id"`
	}
	if err := r.Do(ctx, rest.Request{Op: "read repository", Out: &here}); err != nil {
		return nil
	}
	viewer, err := r.forge.Viewer(ctx)
	if err != nil {
		return nil
	}
	id := strconv.FormatInt(here.ID, 10)
	var found []user
	err = r.forge.client.Do(ctx, rest.Request{
		Op: "read default reviewers", Where: r.Of.String(), Right: readRepository, Out: &found,
		Path:  "/default-reviewers/1.0" + rest.Path("projects", r.project, "repos", r.name) + "/reviewers",
		Query: url.Values{"sourceRepoId": {id}, "targetRepoId": {id}, "sourceRefId": {heads + n.Head}, "targetRefId": {heads + n.Base}},
	})
	var reviewers []map[string]any
	for _, u := range found {
		if err == nil && !forge.SameLogin(u.Name, viewer) { // an author cannot review
			reviewers = append(reviewers, map[string]any{"user": map[string]any{"name": u.Name}})
		}
	}
	return reviewers
}

// EditPullRequest edits a pull request. An edit replaces the reviewers as well, so they are repeated.
func (r *Repository) EditPullRequest(ctx context.Context, number int, e forge.PullRequestEdit) error {
	if e.Empty() {
		return nil
	}
	p, err := r.pull(ctx, number)
	if err != nil {
		return err
	}
	limits := r.forge.Limits()
	after := p
	if e.Title != nil {
		after.Title = forge.OneLine(*e.Title, limits.Title)
	}
	if e.Body != nil {
		labels, _ := texts.Parse(p.Description)
		after.Description = texts.Compose(labels, forge.Cut(*e.Body, limits.Body))
	}
	if e.Base != nil {
		after.To.ID = heads + *e.Base
	}
	if e.State != nil && *e.State == forge.Open {
		if p, err = r.become(ctx, p, forge.Open); err != nil { // only an open one can be edited
			return err
		}
	}
	if after.Title != p.Title || after.Description != p.Description || after.To.ID != p.To.ID {
		if p, err = r.replace(ctx, p, after); err != nil {
			return err
		}
	}
	if e.State != nil && *e.State == forge.Closed {
		_, err = r.become(ctx, p, forge.Closed)
	}
	return err
}

// replace writes the texts and the base of a pull request.
func (r *Repository) replace(ctx context.Context, p, after pull) (pull, error) {
	reviewers := []map[string]any{}
	for _, v := range p.Reviewers {
		reviewers = append(reviewers, map[string]any{"user": map[string]any{"name": v.User.Name}})
	}
	return r.write(ctx, p, rest.Request{
		Op: "edit pull request", Method: http.MethodPut, Path: rest.Path("pull-requests", p.ID),
		In: map[string]any{
			"version": p.Version, "title": after.Title, "description": after.Description, "draft": p.Draft, "reviewers": reviewers,
			"toRef": map[string]any{"id": after.To.ID, "repository": map[string]any{"slug": r.name, "project": map[string]any{"key": r.project}}},
		},
	})
}

// become closes or reopens a pull request.
func (r *Repository) become(ctx context.Context, p pull, state forge.State) (pull, error) {
	now := states[p.State]
	if now == state {
		return p, nil
	}
	if now == forge.Merged {
		return p, r.Fail(forge.ErrConflict, "edit pull request", "the pull request is merged")
	}
	verb := "decline"
	if state == forge.Open {
		verb = "reopen"
	}
	return r.write(ctx, p, rest.Request{
		Op: verb + " pull request", Method: http.MethodPost, Path: rest.Path("pull-requests", p.ID, verb),
		Query: url.Values{"version": {strconv.Itoa(p.Version)}}, In: map[string]any{"version": p.Version},
	})
}

// AddLabels adds labels to the first line of a pull request's description.
func (r *Repository) AddLabels(ctx context.Context, number int, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	return r.relabel(ctx, number, func(labels []string) ([]string, error) { return texts.Add(labels, names...) })
}

// RemoveLabel removes a label from the first line of a pull request's description.
func (r *Repository) RemoveLabel(ctx context.Context, number int, name string) error {
	return r.relabel(ctx, number, func(labels []string) ([]string, error) { return texts.Remove(labels, name), nil })
}

func (r *Repository) relabel(ctx context.Context, number int, change func([]string) ([]string, error)) error {
	p, err := r.pull(ctx, number)
	if err != nil {
		return err
	}
	labels, body := texts.Parse(p.Description)
	changed, err := change(labels)
	if err != nil || slices.Equal(labels, changed) {
		return err
	}
	after := p
	after.Description = texts.Compose(changed, body)
	_, err = r.replace(ctx, p, after)
	return err
}
