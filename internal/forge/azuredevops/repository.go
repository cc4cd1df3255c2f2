package azuredevops

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// Repository is a repository of a project.
type Repository struct {
	forge                       *Forge
	id                          forge.ID
	organization, project, name string
}

// ID returns the repository's ID.
func (r *Repository) ID() forge.ID { return r.id }

// The permissions that requests need: a token's scope, and its account's permission in the repository.
const (
	codeRead    = "scope Code (read)"
	codeWrite   = "scope Code (read & write) and the permission Contribute to pull requests"
	branchWrite = "scope Code (read & write) and the permission Contribute"
	codeStatus  = "scope Code (status), or Code (read & write)"
	codeFull    = "scope Code (full) and the permission Edit policies or Create repository"
	workItems   = "scope Work Items (read & write)"
	hooks       = "the permission Edit subscriptions"
)

// do sends a request. Missing scopes are often answered like wrong tokens.
func (f *Forge) do(ctx context.Context, q rest.Request) (http.Header, error) {
	if q.Query == nil {
		q.Query = url.Values{}
	}
	if !q.Query.Has("api-version") {
		q.Query.Set("api-version", f.version)
	}
	header, err := f.client.Do(ctx, q)
	var e *forge.Error
	if errors.As(err, &e) && e.Status == http.StatusUnauthorized && q.Right != "" {
		e.Right = "a valid token with " + q.Right
	}
	return header, err
}

// preview returns the preview version of an API, for parts without a final version.
func preview(version string) url.Values {
	return url.Values{"api-version": {strings.TrimSuffix(version, "-preview") + "-preview"}}
}

// do sends a request about this repository. Its path is relative to the repository's.
func (r *Repository) do(ctx context.Context, q rest.Request) error {
	q.Path = "/git/repositories" + rest.Path(r.name) + q.Path
	if q.Right == "" && q.Method != "" {
		q.Right = codeWrite
	}
	return r.inProject(ctx, q)
}

// inProject sends a request about the project of this repository.
func (r *Repository) inProject(ctx context.Context, q rest.Request) error {
	q.Where = r.id.String()
	q.Right = cmp.Or(q.Right, codeRead)
	q.Path = rest.Path(r.organization, r.project) + "/_apis" + q.Path
	_, err := r.forge.do(ctx, q)
	return err
}

// values is how the API wraps lists.
type values[T any] struct {
	Value []T `json:"value"`
}

// pageSize is the size of pages to request.
const pageSize = 100

// list reads all pages of a list, or stops when use returns false. A page that is not full is the last.
// The names of the parameters differ: "$top" for some lists, "top" for others.
func list[T any](ctx context.Context, r *Repository, q rest.Request, dollar string, use func(T) bool) error {
	if q.Query == nil {
		q.Query = url.Values{}
	}
	for skip := 0; ; skip += pageSize {
		var page values[T]
		q.Out = &page
		q.Query.Set(dollar+"top", strconv.Itoa(pageSize))
		q.Query.Set(dollar+"skip", strconv.Itoa(skip))
		if err := r.do(ctx, q); err != nil {
			return err
		}
		for _, element := range page.Value {
			if !use(element) {
				return nil
			}
		}
		if len(page.Value) < pageSize {
			return nil
		}
	}
}

// pull returns the path of a pull request, or of something below it.
func pull(number int, more ...string) string {
	return "/pullrequests/" + strconv.Itoa(number) + rest.Path(more...)
}

func (r *Repository) fail(kind error, op, detail string) *forge.Error {
	return &forge.Error{Kind: kind, Op: op, Where: r.id.String(), Detail: detail}
}
