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

// ID returns which repository it is.
func (r *Repository) ID() forge.ID { return r.id }

// CodeOwnersPath is where GitLab looks for the owners of code, besides the root and docs.
func (r *Repository) CodeOwnersPath() string { return ".gitlab/CODEOWNERS" }

// The rights that requests need: a token's scope, and its account's role in the project.
const (
	developer  = "scope api and the role Developer"
	maintainer = "scope api and the role Maintainer"
)

// pageSize is as long as pages get.
const pageSize = 100

// request completes a request about this project; its path is below the project's.
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

// list reads all pages of a list, or those until use returns false.
func list[T any](ctx context.Context, r *Repository, q rest.Request, use func(T) bool) error {
	if q.Query == nil {
		q.Query = url.Values{}
	}
	if !q.Query.Has("per_page") {
		q.Query.Set("per_page", strconv.Itoa(pageSize))
	}
	return rest.Pages(ctx, &r.forge.client, r.request(q), use)
}

// numbered is a path with a number in it: "/merge_requests/1/notes".
func numbered(path string, number int, more ...string) string {
	return path + "/" + strconv.Itoa(number) + rest.Path(more...)
}

func (r *Repository) fail(kind error, op, detail string) *forge.Error {
	return &forge.Error{Kind: kind, Op: op, Where: r.id.String(), Detail: detail}
}

// conflictIf makes a conflict of a refusal with certain words: GitLab answers 400 to much that is one.
func conflictIf(err error, words string) error {
	var e *forge.Error
	if errors.As(err, &e) && errors.Is(e.Kind, forge.ErrInvalid) && strings.Contains(e.Detail, words) {
		e.Kind = forge.ErrConflict
	}
	return err
}
