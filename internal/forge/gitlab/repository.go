package gitlab

import "github.com/kalypso-io/kalypso/internal/forge/rest"

// Repository is a project on a GitLab.
type Repository struct {
	forge *Forge
	rest.Repository
}

// CodeOwnersPath returns where GitLab looks for code owners, besides the root and docs.
func (r *Repository) CodeOwnersPath() string { return ".gitlab/CODEOWNERS" }

// The permissions that requests need: a token's scope, and its account's role in the project.
const (
	developer  = "scope api and the role Developer"
	maintainer = "scope api and the role Maintainer"
)

// pageSize is the maximum size of pages.
const pageSize = 100
