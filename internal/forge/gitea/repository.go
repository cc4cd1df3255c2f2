package gitea

import (
	"context"
	"errors"
	"net/url"
	"strconv"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// Repository is a repository on a Gitea.
type Repository struct {
	forge *Forge
	id    forge.ID
}

// ID returns the repository's ID.
func (r *Repository) ID() forge.ID { return r.id }

// CodeOwnersPath returns where Gitea looks for code owners, besides the root and docs.
func (r *Repository) CodeOwnersPath() string { return ".gitea/CODEOWNERS" }

// The token scopes that requests need.
const (
	writeRepository = "write:repository"
	writeIssue      = "write:issue"
)

// pageSize is the maximum size of pages by default. Administrators can change it.
const pageSize = "50"

// request completes a request about this repository. Its path is relative to the repository's.
func (r *Repository) request(q rest.Request) rest.Request {
	q.Where = r.id.String()
	q.Path = "/repos" + rest.Path(r.id.Owner(), r.id.Name()) + q.Path
	if q.Right == "" {
		q.Right = writeRepository
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
	q.Query.Set("limit", pageSize)
	return explain(rest.Pages(ctx, &r.forge.client, r.request(q), use))
}

// listUnlinked reads a whole list whose pages do not link the next one. Pages can be shorter than requested
// if some entries are hidden, so only an empty page is the last.
func listUnlinked[T any](ctx context.Context, r *Repository, q rest.Request, use func(T)) error {
	for page := 1; ; page++ {
		var elements []T
		q.Out, q.Query = &elements, url.Values{"page": {strconv.Itoa(page)}, "limit": {pageSize}}
		if err := r.do(ctx, q); err != nil || len(elements) == 0 {
			return err
		}
		for _, element := range elements {
			use(element)
		}
	}
}

// explain replaces our hint about missing permissions with the forge's own.
func explain(err error) error {
	var e *forge.Error
	if !errors.As(err, &e) || !errors.Is(e.Kind, forge.ErrDenied) {
		return err
	}
	if scope := requiredScope.FindStringSubmatch(e.Detail); scope != nil {
		e.Right = scope[1]
	}
	return err
}

// numbered returns a path that ends in a number: "/pulls/1".
func numbered(path string, number int, more ...string) string {
	return path + "/" + strconv.Itoa(number) + rest.Path(more...)
}
