package rest

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"sync"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Repository sends requests about one repository. Adapters embed it.
type Repository struct {
	Client *Client  // required
	Of     forge.ID // required
	// Root precedes the path of each request.
	Root string
	// Right is the permission of requests that name none.
	Right string
	// Page is the query of lists; it sets the page size.
	Page url.Values
}

// ID returns the repository's ID.
func (r *Repository) ID() forge.ID { return r.Of }

func (r *Repository) request(q Request) Request {
	q.Where, q.Path = r.Of.String(), r.Root+q.Path
	if q.Right == "" {
		q.Right = r.Right
	}
	return q
}

// Do sends a request. Its path is relative to the repository's.
func (r *Repository) Do(ctx context.Context, q Request) error { return r.Client.Do(ctx, r.request(q)) }

// Fail returns an error about the repository.
func (r *Repository) Fail(kind error, op, detail string) *forge.Error {
	return &forge.Error{Kind: kind, Op: op, Where: r.Of.String(), Detail: detail}
}

// CreateBranch sends a request that creates a branch at a commit. If the branch at path exists there, that is not an error.
func (r *Repository) CreateBranch(ctx context.Context, q Request, path, commit string) error {
	q.Op, q.Method = "create branch", http.MethodPost
	return forge.IgnoreSame(r.Do(ctx, q), commit, func() (string, error) {
		var existing struct {
			Commit struct {
				ID string `json:"id"`
			} `json:"commit"`
		}
		err := r.Do(ctx, Request{Op: "read branch", Path: path, Out: &existing})
		return existing.Commit.ID, err
	})
}

// List is [Pages] for a list of the repository.
func List[T any](ctx context.Context, r *Repository, q Request, use func(T) bool) error {
	query := url.Values{}
	maps.Copy(query, r.Page)
	maps.Copy(query, q.Query)
	q.Query = query
	return Pages(ctx, r.Client, r.request(q), use)
}

// Select reads a list of the repository, and returns the converted elements to keep, at most limit. A nil keep means all,
// a limit of 0 no limit.
func Select[T, U any](
	ctx context.Context, r *Repository, q Request, convert func(T) U, keep func(U) bool, limit int,
) ([]U, error) {
	var all []U
	err := List(ctx, r, q, func(element T) bool {
		if u := convert(element); keep == nil || keep(u) {
			all = append(all, u)
		}
		return limit == 0 || len(all) < limit
	})
	return all, err
}

// All reads a list of the repository.
func All[T any](ctx context.Context, r *Repository, q Request) ([]T, error) {
	return Select(ctx, r, q, func(element T) T { return element }, nil, 0)
}

// Viewer remembers the account of a credential.
type Viewer struct {
	mu   sync.Mutex
	name *string
}

// Name returns the account, which it reads once.
func (v *Viewer) Name(read func() (string, error)) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.name != nil {
		return *v.name, nil
	}
	name, err := read()
	if err == nil {
		v.name = &name
	}
	return name, err
}
