package remote

import (
	"context"
	"fmt"

	"github.com/kalypso-io/kalypso/internal/chart"
)

// Digest requests the digest of an image's tag from its registry. For an image with several platforms,
// it is the digest of the index.
func (c *Client) Digest(ctx context.Context, image chart.Image) (string, error) {
	repository, err := c.images(image.Repository)
	if err != nil {
		return "", fmt.Errorf("find image %s: %w", image, err)
	}
	found, err := repository.Resolve(ctx, image.Tag)
	if err != nil {
		return "", fmt.Errorf("find image %s: %w", image, c.safe(ctx, repository.Reference.Host(), registryError(err)))
	}
	return found.Digest.String(), nil
}
