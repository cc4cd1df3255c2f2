package github

import (
	"context"
	"errors"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Description returns the repository's description.
func (r *Repository) Description(ctx context.Context) (string, error) {
	owner, name := r.names()
	found, answer, err := r.forge.client.Repositories.Get(readRepository.on(ctx), owner, name)
	return found.GetDescription(), r.explain(readRepository, answer, err)
}

// Remove deletes the repository. Classic tokens need the scope delete_repo.
func (r *Repository) Remove(ctx context.Context) error {
	owner, name := r.names()
	answer, err := r.forge.client.Repositories.Delete(removeRepository.on(ctx), owner, name)
	if err = r.explain(removeRepository, answer, err); errors.Is(err, forge.ErrNotFound) {
		return nil
	}
	return err
}

var (
	readRepository   = operation{name: "read repository", right: "metadata=read"}
	removeRepository = operation{name: "delete repository", right: "administration=write"}
)
