package gitea

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// Repository is a repository on a Gitea.
type Repository struct {
	forge *Forge
	rest.Repository
}

// CodeOwnersPath returns where Gitea looks for code owners, besides the root and docs.
func (r *Repository) CodeOwnersPath() string { return ".gitea/CODEOWNERS" }

// The token scopes that requests need.
const (
	writeRepository = "write:repository"
	writeIssue      = "write:issue"
)

// pageSize is the maximum size of pages by default. Administrators can change it.
const pageSize = "50"

// unlinked asks for the next page of a list whose pages do not link it. Pages can be shorter than requested
// if some entries are hidden, so only an empty page is the last.
func unlinked(_ http.Header, query url.Values, elements int) bool {
	page, _ := strconv.Atoi(query.Get("page"))
	query.Set("page", strconv.Itoa(max(page, 1)+1))
	return elements > 0
}
