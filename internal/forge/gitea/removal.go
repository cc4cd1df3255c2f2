package gitea

import (
	"context"
	"errors"
	"net/http"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// Description returns the repository's description.
func (r *Repository) Description(ctx context.Context) (string, error) {
	var found struct {
		Description string `json:"description"`
	}
	err := r.do(ctx, rest.Request{Op: "read repository", Right: "read:repository", Out: &found})
	return found.Description, err
}

// Remove deletes the repository. Only its owner, or an owner of its organization, can do so.
func (r *Repository) Remove(ctx context.Context) error {
	err := r.do(ctx, rest.Request{Op: "delete repository", Right: writeRepository + " of an owner", Method: http.MethodDelete})
	if errors.Is(err, forge.ErrNotFound) {
		return nil
	}
	return err
}
