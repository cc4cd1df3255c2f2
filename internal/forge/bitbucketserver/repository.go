package bitbucketserver

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// Repository is a repository on a Bitbucket Data Center.
type Repository struct {
	forge *Forge
	rest.Repository
	project, name string
}

// api precedes the paths of the main API.
const api = "/api/1.0"

// The permissions that requests need.
const (
	readRepository  = "REPO_READ"
	writeRepository = "REPO_WRITE"
	adminRepository = "REPO_ADMIN"
)

// pageSize is the requested size of pages. The server may have a lower limit.
const pageSize = "100"

// Do sends a request about the repository to the main API.
func (r *Repository) Do(ctx context.Context, q rest.Request) error { return r.Repository.Do(ctx, q) }

// list completes the request of a list.
func list(q rest.Request) rest.Request {
	q.Element, q.Follow = "values", follow
	return q
}

// follow asks for the next page, which a page names.
func follow(page map[string]json.RawMessage, query url.Values) bool {
	var last bool
	var next json.Number
	if json.Unmarshal(page["isLastPage"], &last) != nil || last || json.Unmarshal(page["nextPageStart"], &next) != nil {
		return false
	}
	query.Set("start", next.String())
	return next != ""
}

// selfURL returns the URL of the repository's page.
func (r *Repository) selfURL() string {
	return r.forge.site.URL() + rest.Path("projects", r.project, "repos", r.name)
}

// Description returns the repository's description.
func (r *Repository) Description(ctx context.Context) (string, error) {
	var found struct {
		Description string `json:"description"`
	}
	err := r.Do(ctx, rest.Request{Op: "read repository", Out: &found})
	return found.Description, err
}

// Remove deletes the repository. Bitbucket does so in the background.
func (r *Repository) Remove(ctx context.Context) error {
	return r.Do(ctx, rest.Request{Op: "delete repository", Right: adminRepository, Method: http.MethodDelete, MissingOK: true})
}

// EnsureLabel does nothing: a label exists where a pull request has it.
func (r *Repository) EnsureLabel(context.Context, forge.Label) error { return nil }

// noIssues is the error of all methods about issues.
func (r *Repository) noIssues(op string) error {
	return r.Fail(forge.ErrUnsupported, op, "Bitbucket has no issues")
}

// FindIssues fails: Bitbucket has no issues.
func (r *Repository) FindIssues(context.Context, forge.IssueFilter) ([]forge.Issue, error) {
	return nil, r.noIssues("find issues")
}

// OpenIssue fails: Bitbucket has no issues.
func (r *Repository) OpenIssue(context.Context, forge.NewIssue) (forge.Issue, error) {
	return forge.Issue{}, r.noIssues("open issue")
}

// EditIssue fails: Bitbucket has no issues.
func (r *Repository) EditIssue(context.Context, int, forge.IssueEdit) error {
	return r.noIssues("edit issue")
}

// CreateBranch creates a branch at a commit.
func (r *Repository) CreateBranch(ctx context.Context, name, commit string) error {
	err := r.Do(ctx, rest.Request{
		Op: "create branch", Right: writeRepository, Method: http.MethodPost, Path: "/branches",
		In: map[string]any{"name": name, "startPoint": commit},
	})
	return forge.IgnoreSame(err, commit, func() (string, error) { return r.head(ctx, name) })
}

// head returns the commit of a branch; empty if it does not exist. The filter of the API matches parts of names.
func (r *Repository) head(ctx context.Context, name string) (string, error) {
	type branch struct {
		ID     string `json:"id"`
		Commit string `json:"latestCommit"`
	}
	commit := ""
	request := list(rest.Request{Op: "read branch", Path: "/branches", Query: url.Values{"filterText": {name}, "boostMatches": {"true"}}})
	err := rest.List(ctx, &r.Repository, request, func(b branch) bool {
		if b.ID == heads+name {
			commit = b.Commit
		}
		return commit == ""
	})
	return commit, err
}

// DeleteBranch deletes a branch.
func (r *Repository) DeleteBranch(ctx context.Context, name string) error {
	return r.forge.client.Do(ctx, rest.Request{
		Op: "delete branch", Where: r.Of.String(), Right: writeRepository, Method: http.MethodDelete,
		Path: "/branch-utils/1.0" + rest.Path("projects", r.project, "repos", r.name) + "/branches",
		In:   map[string]any{"name": heads + name, "dryRun": false},
	})
}

// heads precedes the name of a branch in the ID of its ref.
const heads = "refs/heads/"
