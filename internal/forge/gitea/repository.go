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

// ID returns which repository it is.
func (r *Repository) ID() forge.ID { return r.id }

// CodeOwnersPath is where Gitea looks for the owners of code, besides the root and docs.
func (r *Repository) CodeOwnersPath() string { return ".gitea/CODEOWNERS" }

// The scopes of tokens that requests need.
const (
	writeRepository = "write:repository"
	writeIssue      = "write:issue"
)

// pageSize is as long as pages get where the administrator did not say otherwise.
const pageSize = "50"

// request completes a request about this repository; its path is below the repository's.
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

// list reads all pages of a list, or those until use returns false.
func list[T any](ctx context.Context, r *Repository, q rest.Request, use func(T) bool) error {
	if q.Query == nil {
		q.Query = url.Values{}
	}
	q.Query.Set("limit", pageSize)
	return explain(rest.Pages(ctx, &r.forge.client, r.request(q), use))
}

// listUnlinked reads all of a list whose pages name no next one, and are shorter than asked for where something may not be seen:
// an empty one is the last.
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

// explain puts the forge's own word on what a token lacks in the place of ours.
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

// numbered is a path that ends in a number: "/pulls/1".
func numbered(path string, number int, more ...string) string {
	return path + "/" + strconv.Itoa(number) + rest.Path(more...)
}
