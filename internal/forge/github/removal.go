package github

import (
	"context"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Description returns the repository's description.
func (r *Repository) Description(ctx context.Context) (string, error) {
	found, answer, err := r.forge.client.Repositories.Get(readRepository.on(ctx), r.owner, r.name)
	return found.GetDescription(), r.explain(readRepository, answer, err)
}

// Remove deletes the repository. Classic tokens need the scope delete_repo.
func (r *Repository) Remove(ctx context.Context) error {
	answer, err := r.forge.client.Repositories.Delete(removeRepository.on(ctx), r.owner, r.name)
	return forge.Ignore(r.explain(removeRepository, answer, err), forge.ErrNotFound)
}

var (
	readRepository   = operation{name: "read repository", right: "metadata=read"}
	removeRepository = operation{name: "delete repository", right: "administration=write"}
)
