package remote

import (
	"context"
	"fmt"

	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/kalypso-io/kalypso/internal/chart"
)

// Digest asks the registry of an image for the digest that its tag leads to now: that of its index, where it is there for several
// platforms.
func (c *Client) Digest(ctx context.Context, image chart.Image) (string, error) {
	repository, err := remote.NewRepository(image.Repository)
	if err != nil {
		return "", fmt.Errorf("find image %s: %w", image, err)
	}
	repository.PlainHTTP = c.plain(repository.Reference.Registry)
	repository.Client = &auth.Client{Client: c.http(), Cache: auth.NewCache(), Credential: c.registryCredential}
	found, err := repository.Resolve(ctx, image.Tag)
	if err != nil {
		return "", fmt.Errorf("find image %s: %w", image, c.safe(ctx, repository.Reference.Host(), registryError(err)))
	}
	return found.Digest.String(), nil
}
