package gitlab

import (
	"context"
	"net/http"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// Description returns the project's description.
func (r *Repository) Description(ctx context.Context) (string, error) {
	var found struct {
		Description string `json:"description"`
	}
	err := r.Do(ctx, rest.Request{Op: "read repository", Out: &found})
	return found.Description, err
}

// Remove deletes the project. A GitLab with delayed deletion keeps it for some days.
func (r *Repository) Remove(ctx context.Context) error {
	return forge.Ignore(r.Do(ctx, rest.Request{
		Op: "delete repository", Right: "scope api and the role Owner", Method: http.MethodDelete, MissingOK: true,
		Conflict: "already been marked for deletion",
	}), forge.ErrConflict)
}
