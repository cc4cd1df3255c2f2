package gitlab

import (
	"context"
	"net/http"

	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// CreateBranch creates a branch at a commit.
func (r *Repository) CreateBranch(ctx context.Context, name, commit string) error {
	return r.Repository.CreateBranch(ctx, rest.Request{
		Path: "/repository/branches", In: map[string]any{"branch": name, "ref": commit}, Conflict: "already exists",
	}, rest.Path("repository", "branches", name), commit)
}

// DeleteBranch deletes a branch.
func (r *Repository) DeleteBranch(ctx context.Context, name string) error {
	return r.Do(ctx, rest.Request{
		Op: "delete branch", Method: http.MethodDelete, Path: rest.Path("repository", "branches", name), MissingOK: true,
	})
}
