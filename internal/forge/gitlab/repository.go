package gitlab

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// Repository is a project on a GitLab.
type Repository struct {
	forge *Forge
	id    forge.ID
}

// ID returns the repository's ID.
func (r *Repository) ID() forge.ID { return r.id }

// CodeOwnersPath returns where GitLab looks for code owners, besides the root and docs.
func (r *Repository) CodeOwnersPath() string { return ".gitlab/CODEOWNERS" }

// The permissions that requests need: a token's scope, and its account's role in the project.
const (
	developer  = "scope api and the role Developer"
	maintainer = "scope api and the role Maintainer"
)

// pageSize is the maximum size of pages.
const pageSize = 100

// request completes a request about this project. Its path is relative to the project's.
func (r *Repository) request(q rest.Request) rest.Request {
	q.Where = r.id.String()
	q.Path = "/projects" + rest.Path(r.id.Path) + q.Path
	if q.Right == "" {
		q.Right = developer
	}
	return q
}

func (r *Repository) do(ctx context.Context, q rest.Request) error {
	return r.forge.do(ctx, r.request(q))
}

// list reads all pages of a list, or stops when use returns false.
func list[T any](ctx context.Context, r *Repository, q rest.Request, use func(T) bool) error {
	if q.Query == nil {
		q.Query = url.Values{}
	}
	if !q.Query.Has("per_page") {
		q.Query.Set("per_page", strconv.Itoa(pageSize))
	}
	return rest.Pages(ctx, &r.forge.client, r.request(q), use)
}

// numbered returns a path with a number in it: "/merge_requests/1/notes".
func numbered(path string, number int, more ...string) string {
	return path + "/" + strconv.Itoa(number) + rest.Path(more...)
}

func (r *Repository) fail(kind error, op, detail string) *forge.Error {
	return &forge.Error{Kind: kind, Op: op, Where: r.id.String(), Detail: detail}
}

// conflictIf turns a refusal with certain words into a conflict: GitLab answers many conflicts with 400.
func conflictIf(err error, words string) error {
	var e *forge.Error
	if errors.As(err, &e) && errors.Is(e.Kind, forge.ErrInvalid) && strings.Contains(e.Detail, words) {
		e.Kind = forge.ErrConflict
	}
	return err
}
