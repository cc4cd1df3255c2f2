package github

import (
	"net/url"

	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// Repository is a repository on GitHub.
type Repository struct {
	forge *Forge
	rest.Repository
	owner string
}

// CodeOwnersPath returns where GitHub looks first for code owners.
func (r *Repository) CodeOwnersPath() string { return ".github/CODEOWNERS" }

// pageSize is the maximum size of pages.
const pageSize = 100

// perPage is the query of lists, in the maximum size.
var perPage = url.Values{"per_page": {"100"}}

// user is an account. Its fields are empty if it was deleted.
type user struct {
	Login string `json:"login"`
	ID    int64  `json:"id"`
	Type  string `json:"type"`
}
