package bitbucket

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
	"github.com/kalypso-io/kalypso/internal/forge/texts"
)

// pull is a pull request as the API describes it.
type pull struct {
	ID           int           `json:"id"`
	Title        string        `json:"title"`
	Description  string        `json:"description"`
	State        string        `json:"state"`
	Draft        bool          `json:"draft"`
	CreatedOn    time.Time     `json:"created_on"`
	UpdatedOn    time.Time     `json:"updated_on"`
	Source       end           `json:"source"`
	Destination  end           `json:"destination"`
	MergeCommit  *commit       `json:"merge_commit"`
	Author       *user         `json:"author"`
	ClosedBy     *user         `json:"closed_by"`
	Reviewers    []user        `json:"reviewers"`
	Participants []participant `json:"participants"`
	Links        links         `json:"links"`
}

type commit struct {
	Hash string `json:"hash"`
}

// end is the head or base of a pull request. Its repository is null if it was deleted, or is hidden from the token.
type end struct {
	Branch struct {
		Name string `json:"name"`
	} `json:"branch"`
	Commit     commit `json:"commit"`
	Repository *place `json:"repository"`
}

// place is a repository.
type place struct {
	FullName string `json:"full_name"`
}

type links struct {
	HTML struct {
		Href string `json:"href"`
	} `json:"html"`
}

var states = map[string]forge.State{"OPEN": forge.Open, "MERGED": forge.Merged, "DECLINED": forge.Closed, "SUPERSEDED": forge.Closed}

// pullRequest converts a pull request, whose commits are abbreviated then.
func (r *Repository) pullRequest(p pull) forge.PullRequest {
	labels, body := texts.Parse(p.Description)
	result := forge.PullRequest{
		Number: p.ID, URL: p.Links.HTML.Href, Title: p.Title, Body: body, State: states[p.State], Draft: p.Draft, Labels: labels,
		Author: p.Author.login(), AuthorAccount: p.Author.account(), CreatedAt: p.CreatedOn,
		Head: forge.Ref{Branch: p.Source.Branch.Name, Commit: p.Source.Commit.Hash, Fork: r.fork(p.Source)},
		Base: forge.Ref{Branch: p.Destination.Branch.Name, Commit: p.Destination.Commit.Hash},
	}
	if result.Head.Fork == "" {
		result.Fetch = "refs/heads/" + result.Head.Branch
	}
	if result.State != forge.Open {
		result.EndedAt, result.EndedBy = p.UpdatedOn, p.ClosedBy.login()
	}
	if p.MergeCommit != nil && result.State == forge.Merged {
		result.MergeCommit = p.MergeCommit.Hash
	}
	return result
}

// fork returns the head's repository if it is a fork.
func (r *Repository) fork(at end) string {
	switch {
	case at.Repository == nil:
		return "unknown"
	case strings.EqualFold(at.Repository.FullName, r.Of.Path):
		return ""
	}
	return at.Repository.FullName
}

// complete converts a pull request, with whole commits. That of the base is left as it is: no caller compares it.
func (r *Repository) complete(ctx context.Context, p pull) (forge.PullRequest, error) {
	result := r.pullRequest(p)
	var err error
	if result.Head.Commit, err = r.whole(ctx, p.Source); err == nil {
		result.MergeCommit, err = r.mergeCommit(ctx, p)
	}
	return result, err
}

// mergeCommit returns the commit that a merge made; empty if it is unknown.
func (r *Repository) mergeCommit(ctx context.Context, p pull) (string, error) {
	if p.State != "MERGED" || p.MergeCommit == nil {
		return "", nil
	}
	return r.whole(ctx, end{Commit: *p.MergeCommit})
}

// FindPullRequests lists pull requests, the newest first.
func (r *Repository) FindPullRequests(ctx context.Context, f forge.PullRequestFilter) ([]forge.PullRequest, error) {
	query := url.Values{"sort": {"-created_on"}}
	for _, name := range []string{"OPEN", "MERGED", "DECLINED", "SUPERSEDED"} {
		if f.State == "" || f.State == states[name] {
			query.Add("state", name)
		}
	}
	var conditions []string
	if f.Head != "" {
		conditions = append(conditions, "source.branch.name = "+quote(f.Head))
	}
	if f.Base != "" {
		conditions = append(conditions, "destination.branch.name = "+quote(f.Base))
	}
	if len(conditions) > 0 {
		query.Set("q", strings.Join(conditions, " AND "))
	}
	all, err := rest.Select(ctx, &r.Repository, list(rest.Request{Op: "find pull requests", Path: "/pullrequests", Query: query}),
		func(p pull) pull { return p }, func(p pull) bool { return f.Matches(r.pullRequest(p)) }, f.Limit)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b pull) int { return b.ID - a.ID })
	found := make([]forge.PullRequest, 0, len(all))
	for _, p := range all {
		c, err := r.complete(ctx, p)
		if err != nil {
			return nil, err
		}
		found = append(found, c)
	}
	return found, nil
}

// quote writes a text in a condition.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// PullRequest reads a pull request. The API does not tell whether it merges.
func (r *Repository) PullRequest(ctx context.Context, number int) (forge.PullRequest, error) {
	p, err := r.pull(ctx, number)
	if err != nil {
		return forge.PullRequest{}, err
	}
	return r.complete(ctx, p)
}

// pull reads a pull request. It is never older than what our last write returned.
func (r *Repository) pull(ctx context.Context, number int) (pull, error) {
	var p pull
	if err := r.Do(ctx, rest.Request{Op: "read pull request", Path: rest.Path("pullrequests", number), Out: &p}); err != nil {
		return pull{}, err
	}
	return r.forge.latest.Newest(r.key(number), p, func(written, read pull) bool { return written.UpdatedOn.After(read.UpdatedOn) }), nil
}

func (r *Repository) key(number int) string { return fmt.Sprint(r.Of, "#", number) }

// write sends a request that changes a pull request, and returns it as it is then.
func (r *Repository) write(ctx context.Context, number int, q rest.Request) (pull, error) {
	var after pull
	q.Right, q.Out = writePullRequests, &after
	if err := r.Do(ctx, q); err != nil {
		return pull{}, err
	}
	r.forge.latest.Wrote(r.key(number), after)
	return after, nil
}

// OpenPullRequest opens a pull request, with the default reviewers of the repository. The API would edit one that is open between the same
// branches.
func (r *Repository) OpenPullRequest(ctx context.Context, n forge.NewPullRequest) (forge.PullRequest, error) {
	open, err := r.FindPullRequests(ctx, forge.PullRequestFilter{State: forge.Open, Head: n.Head, Base: n.Base, Limit: 1})
	if err != nil {
		return forge.PullRequest{}, err
	}
	if len(open) > 0 {
		return forge.PullRequest{}, r.Fail(forge.ErrConflict, "open pull request", fmt.Sprintf("pull request %d is open from %s", open[0].Number, n.Head))
	}
	limits := r.forge.Limits()
	in := map[string]any{
		"title": forge.OneLine(n.Title, limits.Title), "description": texts.Compose(nil, forge.Cut(n.Body, limits.Body)),
		"source": branch(n.Head), "destination": branch(n.Base), "close_source_branch": false,
	}
	if n.Draft {
		in["draft"] = true
	}
	if reviewers := r.defaultReviewers(ctx); len(reviewers) > 0 {
		in["reviewers"] = reviewers
	}
	var p pull
	err = r.Do(ctx, rest.Request{
		Op: "open pull request", Right: writePullRequests, Method: http.MethodPost, Path: "/pullrequests", In: in, Out: &p,
	})
	if err != nil {
		return forge.PullRequest{}, err
	}
	return r.complete(ctx, p)
}

func branch(name string) map[string]any {
	return map[string]any{"branch": map[string]any{"name": name}}
}

// defaultReviewers returns the reviewers that the page would propose; none if they cannot be read, as they are not needed to open it.
func (r *Repository) defaultReviewers(ctx context.Context) []map[string]any {
	type entry struct {
		User user `json:"user"`
	}
	found, err := rest.All[entry](ctx, &r.Repository, list(rest.Request{Op: "read default reviewers", Path: "/effective-default-reviewers"}))
	if err != nil || len(found) == 0 {
		return nil
	}
	viewer, err := r.forge.Viewer(ctx)
	if err != nil || viewer == "" {
		return nil // an author cannot review
	}
	var reviewers []map[string]any
	for _, e := range found {
		if e.User.login() != viewer && e.User.UUID != "" {
			reviewers = append(reviewers, map[string]any{"uuid": e.User.UUID})
		}
	}
	return reviewers
}

// EditPullRequest edits a pull request. Only open ones can be edited, and a declined one stays so.
func (r *Repository) EditPullRequest(ctx context.Context, number int, e forge.PullRequestEdit) error {
	if e.Empty() {
		return nil
	}
	const op = "edit pull request"
	p, err := r.pull(ctx, number)
	if err != nil {
		return err
	}
	if now := states[p.State]; e.State != nil && *e.State == forge.Open && now != forge.Open {
		if now == forge.Merged {
			return r.Fail(forge.ErrConflict, op, "the pull request is merged")
		}
		return r.Fail(forge.ErrUnsupported, op, "Bitbucket Cloud does not open a declined pull request again; open another one")
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
		after.Destination.Branch.Name = *e.Base
	}
	if err := r.replace(ctx, p, after); err != nil {
		return err
	}
	if e.State != nil && *e.State == forge.Closed && states[p.State] == forge.Open {
		_, err = r.write(ctx, number, rest.Request{
			Op: "decline pull request", Method: http.MethodPost, Path: rest.Path("pullrequests", number, "decline"), Repeatable: true,
		})
	} else if e.State != nil && *e.State == forge.Closed && states[p.State] == forge.Merged {
		err = r.Fail(forge.ErrConflict, op, "the pull request is merged")
	}
	return err
}

// replace writes the texts and the base of a pull request, if they differ. It repeats the reviewers: without them, it has none afterwards.
func (r *Repository) replace(ctx context.Context, p, after pull) error {
	if after.Title == p.Title && after.Description == p.Description && after.Destination.Branch.Name == p.Destination.Branch.Name {
		return nil
	}
	reviewers := []map[string]any{}
	for _, u := range p.Reviewers {
		reviewers = append(reviewers, map[string]any{"uuid": u.UUID})
	}
	_, err := r.write(ctx, p.ID, rest.Request{
		Op: "edit pull request", Method: http.MethodPut, Path: rest.Path("pullrequests", p.ID),
		In: map[string]any{
			"title": after.Title, "description": after.Description, "destination": branch(after.Destination.Branch.Name), "reviewers": reviewers,
			"draft": p.Draft,
		},
	})
	return err
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
	return r.replace(ctx, p, after)
}
