package remote

import (
	"context"

	"oras.land/oras-go/v2/registry/remote"
)

// Repository returns a repository of a registry, "registry.example.com/team/shop", for artifacts of any type.
func (c *Client) Repository(name string) (*remote.Repository, error) { return c.images(name) }

// Safe returns the error of a registry without the credential for its host. It matches [ErrUnavailable] and [ErrCredential].
func (c *Client) Safe(ctx context.Context, host string, err error) error {
	return c.safe(ctx, host, registryError(err))
}
