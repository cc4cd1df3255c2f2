package bitbucket

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// Repository is a repository on Bitbucket Cloud.
type Repository struct {
	forge *Forge
	rest.Repository
}

// The scopes that requests need, as API tokens call them.
const (
	readRepository    = "read:repository"
	writeRepository   = "write:repository"
	adminRepository   = "admin:repository"
	readPullRequests  = "read:pullrequest"
	writePullRequests = "write:pullrequest"
	writeWebhooks     = "write:webhook"
)

// pageSize is the most that all lists accept.
const pageSize = "50"

// Description returns the repository's description.
func (r *Repository) Description(ctx context.Context) (string, error) {
	var found struct {
		Description string `json:"description"`
	}
	err := r.Do(ctx, rest.Request{Op: "read repository", Right: readRepository, Out: &found})
	return found.Description, err
}

// Remove deletes the repository.
func (r *Repository) Remove(ctx context.Context) error {
	return r.Do(ctx, rest.Request{Op: "delete repository", Right: "delete:repository", Method: http.MethodDelete, MissingOK: true})
}

// EnsureLabel does nothing: a label exists where a pull request has it.
func (r *Repository) EnsureLabel(context.Context, forge.Label) error { return nil }

// noIssues is the error of all methods about issues.
func (r *Repository) noIssues(op string) error {
	return r.Fail(forge.ErrUnsupported, op, "repositories on Bitbucket need not have issues")
}

// FindIssues fails: Bitbucket retires its issues.
func (r *Repository) FindIssues(context.Context, forge.IssueFilter) ([]forge.Issue, error) {
	return nil, r.noIssues("find issues")
}

// OpenIssue fails: Bitbucket retires its issues.
func (r *Repository) OpenIssue(context.Context, forge.NewIssue) (forge.Issue, error) {
	return forge.Issue{}, r.noIssues("open issue")
}

// EditIssue fails: Bitbucket retires its issues.
func (r *Repository) EditIssue(context.Context, int, forge.IssueEdit) error {
	return r.noIssues("edit issue")
}

// CreateBranch creates a branch at a commit.
func (r *Repository) CreateBranch(ctx context.Context, name, commit string) error {
	err := r.Do(ctx, rest.Request{
		Op: "create branch", Right: writeRepository, Method: http.MethodPost, Path: "/refs/branches", Conflict: "already exists",
		In: map[string]any{"name": name, "target": map[string]any{"hash": commit}},
	})
	return forge.IgnoreSame(err, commit, func() (string, error) {
		var existing struct {
			Target struct {
				Hash string `json:"hash"`
			} `json:"target"`
		}
		err := r.Do(ctx, rest.Request{Op: "read branch", Right: readRepository, Path: rest.Path("refs", "branches", name), Out: &existing})
		return existing.Target.Hash, err
	})
}

// DeleteBranch deletes a branch.
func (r *Repository) DeleteBranch(ctx context.Context, name string) error {
	return r.Do(ctx, rest.Request{
		Op: "delete branch", Right: writeRepository, Method: http.MethodDelete, Path: rest.Path("refs", "branches", name), MissingOK: true,
	})
}

// commits remembers whole commits by their abbreviations. The zero value is empty.
type commits struct {
	mu    sync.Mutex
	whole map[string]string
}

// maxCommits limits how many are remembered; then all are forgotten.
const maxCommits = 10_000

// whole returns the whole commit of an abbreviated one. A commit that does not exist any more stays abbreviated, so that it equals none.
func (r *Repository) whole(ctx context.Context, at end) (string, error) {
	short := at.Commit.Hash
	if len(short) >= 40 || short == "" {
		return short, nil
	}
	root := r.Root
	if at.Repository != nil && at.Repository.FullName != "" {
		if owner, name, ok := strings.Cut(at.Repository.FullName, "/"); ok {
			root = rest.Path("repositories", owner, name)
		}
	}
	key := strings.ToLower(root) + " " + short
	known := &r.forge.commits
	known.mu.Lock()
	whole := known.whole[key]
	known.mu.Unlock()
	if whole != "" {
		return whole, nil
	}
	var found struct {
		Hash string `json:"hash"`
	}
	err := r.forge.client.Do(ctx, rest.Request{
		Op: "read commit", Where: r.Of.String(), Right: readRepository, Path: root + rest.Path("commit", short), Query: url.Values{"fields": {"hash"}}, Out: &found,
	})
	switch {
	case errors.Is(err, forge.ErrNotFound), err != nil && errors.Is(err, forge.ErrDenied) && root != r.Root:
		return short, nil // it is gone, or in a fork that the token may not read
	case err != nil:
		return "", err
	case !strings.HasPrefix(found.Hash, short):
		return "", r.Fail(forge.ErrUnavailable, "read commit", "the answer is another commit")
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	if known.whole == nil || len(known.whole) >= maxCommits {
		known.whole = map[string]string{}
	}
	known.whole[key] = found.Hash
	return found.Hash, nil
}
