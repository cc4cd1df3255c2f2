package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/Masterminds/semver/v3"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

// The media types of charts in registries.
const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	layerType    = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// The limits of registries' answers about charts.
const (
	maxManifest = 1 << 20
	maxTagPages = 100
)

// repository returns a chart's repository in its registry.
func (c *Client) repository(p place) (*remote.Repository, error) {
	r, err := remote.NewRepository(p.url.Host + p.url.Path)
	if err != nil {
		return nil, err
	}
	r.PlainHTTP = c.plain(p.url.Host)
	r.ManifestMediaTypes = []string{manifestType}
	r.TagListMaxPages = maxTagPages
	r.Client = &auth.Client{Client: c.http(), Cache: auth.NewCache(), Credential: c.registryCredential}
	return r, nil
}

func (c *Client) registryCredential(ctx context.Context, host string) (auth.Credential, error) {
	if c.Credential == nil {
		return auth.EmptyCredential, nil
	}
	known, err := c.Credential(ctx, host)
	if err != nil {
		return auth.EmptyCredential, fmt.Errorf("find the credential for %s: %w", host, err)
	}
	return auth.Credential{Username: known.User, Password: known.Password.Reveal()}, nil
}

// tags returns a chart's versions in a registry, newest first.
func (c *Client) tags(ctx context.Context, p place) ([]version, error) {
	repository, err := c.repository(p)
	if err != nil {
		return nil, err
	}
	var all []version
	err = repository.Tags(ctx, "", func(tags []string) error {
		for _, tag := range tags {
			text := strings.ReplaceAll(tag, "_", "+") // tags cannot contain a plus
			if parsed, err := semver.StrictNewVersion(strings.TrimPrefix(text, "v")); err == nil {
				all = append(all, version{parsed: parsed, text: text})
			}
		}
		return nil
	})
	if err != nil {
		return nil, registryError(err)
	}
	sortVersions(all)
	return all, nil
}

// pull fetches the archive of a version.
func (c *Client) pull(ctx context.Context, p place, v version) ([]byte, error) {
	repository, err := c.repository(p)
	if err != nil {
		return nil, err
	}
	described, manifest, err := repository.Manifests().FetchReference(ctx, strings.ReplaceAll(v.text, "+", "_"))
	if err != nil {
		return nil, registryError(err)
	}
	defer manifest.Close() //nolint:errcheck // nothing was written
	text, err := readAll(manifest, described.Size, maxManifest, "the manifest")
	if err != nil {
		return nil, err
	}
	if described.Digest.String() != digestOf(text) {
		return nil, fmt.Errorf("the manifest has the digest %s, and %s was announced", digestOf(text), described.Digest)
	}
	var layers manifestLayers
	if err := json.Unmarshal(text, &layers); err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	return layers.fetch(ctx, repository)
}

// manifestLayers holds the used parts of a manifest.
type manifestLayers struct {
	Layers []struct {
		MediaType string `json:"mediaType"`
		Digest    string `json:"digest"`
		Size      int64  `json:"size"`
	} `json:"layers"`
}

// fetch fetches the layer with the chart's archive.
func (m manifestLayers) fetch(ctx context.Context, repository *remote.Repository) ([]byte, error) {
	for _, layer := range m.Layers {
		if layer.MediaType != layerType {
			continue
		}
		if layer.Size > MaxArchive {
			return nil, fmt.Errorf("the chart has %d bytes, more than the %d that are fetched", layer.Size, MaxArchive)
		}
		_, content, err := repository.Blobs().FetchReference(ctx, layer.Digest)
		if err != nil {
			return nil, registryError(err)
		}
		defer content.Close() //nolint:errcheck // nothing was written
		archive, err := readAll(content, layer.Size, MaxArchive, "the chart")
		if err != nil {
			return nil, err
		}
		if digestOf(archive) != layer.Digest {
			return nil, fmt.Errorf("the archive has the digest %s, and %s was announced", digestOf(archive), layer.Digest)
		}
		return archive, nil
	}
	return nil, errors.New("it is not a Helm chart: no layer of its manifest is one")
}

// registryError converts a registry's error, and marks those for which retrying may help.
func registryError(err error) error {
	if errors.Is(err, auth.ErrBasicCredentialNotFound) {
		return fmt.Errorf("%w: %w", ErrCredential, err)
	}
	var size blobSizeError
	if errors.As(err, &size) {
		return size
	}
	var answer *errcode.ErrorResponse
	if !errors.As(err, &answer) {
		if strings.Contains(err.Error(), "not found") {
			return fmt.Errorf("the registry does not have it: %w", err)
		}
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	switch {
	case answer.StatusCode >= 500 || answer.StatusCode == http.StatusTooManyRequests:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden:
		return fmt.Errorf("%w: %w", ErrCredential, err)
	}
	return err
}
