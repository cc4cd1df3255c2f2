package gitlab

import (
	"context"
	"errors"
	"net/http"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// Description returns the project's description.
func (r *Repository) Description(ctx context.Context) (string, error) {
	var found struct {
		Description string `json:"description"`
	}
	err := r.do(ctx, rest.Request{Op: "read repository", Out: &found})
	return found.Description, err
}

// Remove deletes the project. A GitLab with delayed deletion keeps it for some days.
func (r *Repository) Remove(ctx context.Context) error {
	err := r.do(ctx, rest.Request{Op: "delete repository", Right: "scope api and the role Owner", Method: http.MethodDelete})
	if err = conflictIf(err, "already been marked for deletion"); errors.Is(err, forge.ErrNotFound) || errors.Is(err, forge.ErrConflict) {
		return nil
	}
	return err
}
