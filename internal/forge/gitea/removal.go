package gitea

import (
	"context"
	"net/http"

	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// Description returns the repository's description.
func (r *Repository) Description(ctx context.Context) (string, error) {
	var found struct {
		Description string `json:"description"`
	}
	err := r.Do(ctx, rest.Request{Op: "read repository", Right: "read:repository", Out: &found})
	return found.Description, err
}

// Remove deletes the repository. Only its owner, or an owner of its organization, can do so.
func (r *Repository) Remove(ctx context.Context) error {
	return r.Do(ctx, rest.Request{
		Op: "delete repository", Right: writeRepository + " of an owner", Method: http.MethodDelete, MissingOK: true,
	})
}
