package github

import (
	"context"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Description returns the repository's description.
func (r *Repository) Description(ctx context.Context) (string, error) {
	var found struct {
		Description string `json:"description"`
	}
	err := r.Do(ctx, readRepository.read("", &found))
	return found.Description, err
}

// Remove deletes the repository. Classic tokens need the scope delete_repo.
func (r *Repository) Remove(ctx context.Context) error {
	return forge.Ignore(r.Do(ctx, removeRepository.remove("")), forge.ErrNotFound)
}
