package azuredevops

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// Repository is a repository of a project.
// Requests are about its project.
type Repository struct {
	forge *Forge
	rest.Repository
	organization, project, name string
}

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

// explain names the scope that may be missing: missing scopes are often answered like wrong tokens.
func explain(r rest.Request, _ http.Header, e *forge.Error) {
	if e.Status == http.StatusUnauthorized && r.Right != "" {
		e.Right = "a valid token with " + r.Right
	}
}

// preview returns the preview version of an API, for parts without a final version.
func preview(version string) url.Values {
	return url.Values{"api-version": {strings.TrimSuffix(version, "-preview") + "-preview"}}
}

func (r *Repository) request(q rest.Request) rest.Request {
	q.Path = "/git/repositories" + rest.Path(r.name) + q.Path
	if q.Right == "" && q.Method != "" {
		q.Right = codeWrite
	}
	return q
}

// do sends a request about this repository. Its path is relative to the repository's.
func (r *Repository) do(ctx context.Context, q rest.Request) error { return r.Do(ctx, r.request(q)) }

// values is how the API wraps lists.
type values[T any] struct {
	Value []T `json:"value"`
}

// pageSize is the size of pages to request.
const pageSize = 100

// paged completes a request for a list of this repository. A page that is not full is the last.
// The names of the parameters differ: "$top" for some lists, "top" for others.
func (r *Repository) paged(q rest.Request, dollar string) rest.Request {
	if q.Query == nil {
		q.Query = url.Values{}
	}
	q.Query.Set(dollar+"top", strconv.Itoa(pageSize))
	q.Query.Set(dollar+"skip", "0")
	q.Element = "value"
	q.Next = func(_ http.Header, query url.Values, elements int) bool {
		skip, _ := strconv.Atoi(query.Get(dollar + "skip"))
		query.Set(dollar+"skip", strconv.Itoa(skip+pageSize))
		return elements >= pageSize
	}
	return r.request(q)
}

// pull returns the path of a pull request, or of something below it.
func pull(number int, more ...any) string {
	return rest.Path("pullrequests", number) + rest.Path(more...)
}
