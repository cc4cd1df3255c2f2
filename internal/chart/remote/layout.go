package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
)

// chartConfigType is the media type of the configuration of a chart in a registry.
const chartConfigType = "application/vnd.cncf.helm.config.v1+json"

// Layout copies images and charts to the folder blobs of an OCI image layout:
// https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md. The caller writes its index.
type Layout struct {
	client *Client
	store  *oci.Storage
}

// NewLayout returns a layout in a folder.
func (c *Client) NewLayout(dir string) (*Layout, error) {
	store, err := oci.NewStorage(dir)
	if err != nil {
		return nil, fmt.Errorf("create the image layout: %w", err)
	}
	return &Layout{client: c, store: store}, nil
}

// Artifact is an image or chart in a layout.
type Artifact struct {
	// MediaType, Digest and Size describe its manifest, which for an image with several platforms is an index.
	MediaType, Digest string
	Size              int64
}

func artifact(d ocispec.Descriptor) Artifact {
	return Artifact{MediaType: d.MediaType, Digest: d.Digest.String(), Size: d.Size}
}

// Image copies an image with all its platforms into the layout.
func (l *Layout) Image(ctx context.Context, image chart.Image) (Artifact, error) {
	from, err := l.client.images(image.Repository)
	if err != nil {
		return Artifact{}, fmt.Errorf("fetch image %s: %w", image, err)
	}
	reference := image.Tag
	if image.Digest != "" {
		reference = image.Digest
	}
	found, err := l.copy(ctx, from, reference)
	if err != nil {
		return Artifact{}, fmt.Errorf("fetch image %s: %w", image, l.client.safe(ctx, from.Reference.Host(), registryError(err)))
	}
	return artifact(found), nil
}

// copy copies what a reference names.
func (l *Layout) copy(ctx context.Context, from *remote.Repository, reference string) (ocispec.Descriptor, error) {
	root, err := from.Resolve(ctx, reference)
	if err != nil {
		return root, err
	}
	options := oras.DefaultCopyGraphOptions
	options.PreCopy = func(_ context.Context, d ocispec.Descriptor) error {
		if d.Size > MaxBlob {
			return blobSizeError{d.Digest.String(), d.Size}
		}
		return nil
	}
	return root, oras.CopyGraph(ctx, from, l.store, root, options)
}

// MaxBlob is the maximum size of a layer of an image, in bytes.
const MaxBlob = 1<<33 - 1

// blobSizeError is the error for a layer that is too large.
type blobSizeError struct {
	digest string
	size   int64
}

// Error names the layer.
func (e blobSizeError) Error() string {
	return fmt.Sprintf("%s has %d bytes, more than the %d that are fetched", e.digest, e.size, int64(MaxBlob))
}

// ChartArtifact is a chart in a layout, with its files.
type ChartArtifact struct {
	Artifact
	// Version is the version that was found.
	Version string
	Files   []chart.File
}

// Chart copies a chart into the layout. One from a repository with an index becomes what "helm push" makes of it. Charts whose
// archive lacks a dependency are refused: they cannot be installed without a network.
func (l *Layout) Chart(ctx context.Context, ref app.Chart) (ChartArtifact, error) {
	p, err := parsePlace(ref)
	if err != nil {
		return ChartArtifact{}, err
	}
	resolved, archive, _, err := l.client.archive(ctx, p)
	if err != nil {
		return ChartArtifact{}, fmt.Errorf("fetch chart %q %s from %s: %w", p.name, p.requested, p.url.Redacted(), err)
	}
	files, err := chart.Unpack(archive)
	if err != nil {
		return ChartArtifact{}, fmt.Errorf("unpack chart %q %s: %w", p.name, resolved.Version, err)
	}
	described, err := chart.Describe(files)
	if err != nil {
		return ChartArtifact{}, fmt.Errorf("read chart %q %s: %w", p.name, resolved.Version, err)
	}
	if missing := described.Missing; len(missing) > 0 {
		return ChartArtifact{}, fmt.Errorf("chart %q %s depends on %q, which is not in its archive", p.name, resolved.Version, missing[0].Name)
	}
	var found ocispec.Descriptor
	if p.url.Scheme == "oci" {
		from, err := l.client.repository(p)
		if err != nil {
			return ChartArtifact{}, err
		}
		if found, err = l.copy(ctx, from, strings.ReplaceAll(resolved.Version, "+", "_")); err != nil {
			return ChartArtifact{}, fmt.Errorf("fetch chart %q %s: %w", p.name, resolved.Version, l.client.safe(ctx, p.url.Host, registryError(err)))
		}
	} else if found, err = l.pack(ctx, described, archive); err != nil {
		return ChartArtifact{}, fmt.Errorf("pack chart %q %s: %w", p.name, resolved.Version, err)
	}
	return ChartArtifact{artifact(found), resolved.Version, files}, nil
}

// pack adds an archive like "helm push", without a time, so that equal archives have equal digests.
func (l *Layout) pack(ctx context.Context, described *chart.Description, archive []byte) (ocispec.Descriptor, error) {
	config, err := json.Marshal(map[string]string{"name": described.Name, "version": described.Version, "apiVersion": "v2"})
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	manifest := ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest}
	if manifest.Config, err = l.put(ctx, chartConfigType, config); err != nil {
		return manifest.Config, err
	}
	layer, err := l.put(ctx, layerType, archive)
	if err != nil {
		return layer, err
	}
	manifest.Layers = []ocispec.Descriptor{layer}
	text, err := json.Marshal(manifest)
	if err != nil {
		return layer, err
	}
	return l.put(ctx, manifest.MediaType, text)
}

func (l *Layout) put(ctx context.Context, mediaType string, content []byte) (ocispec.Descriptor, error) {
	d := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(content), Size: int64(len(content))}
	err := l.store.Push(ctx, d, bytes.NewReader(content))
	if errors.Is(err, errdef.ErrAlreadyExists) {
		err = nil
	}
	return d, err
}

// Blobs are contents by digest.
type Blobs interface {
	// Open returns a content, and its size. The caller closes it.
	Open(digest string) (content io.ReadCloser, size int64, err error)
}

// Upload is an image or chart to be updescribed.
type Upload struct {
	Artifact
	// Repository is the registry with the path in it, "registry.example.com/team/shop". // required
	Repository string
	// Tag is empty for one that is only known by its digest.
	Tag string
}

// Upload copies an image or chart with everything that it refers to into a registry, and tags it. What the registry has already is not
// sent again.
func (c *Client) Upload(ctx context.Context, from Blobs, u Upload) error {
	to, err := c.images(u.Repository)
	if err != nil {
		return fmt.Errorf("upload to %s: %w", u.Repository, err)
	}
	root := ocispec.Descriptor{MediaType: u.MediaType, Digest: digest.Digest(u.Digest), Size: u.Size}
	err = oras.CopyGraph(ctx, blobStorage{from}, to, root, oras.DefaultCopyGraphOptions)
	if err == nil && u.Tag != "" {
		err = to.Tag(ctx, root, u.Tag)
	}
	if err != nil {
		return fmt.Errorf("upload to %s: %w", u.Repository, c.safe(ctx, to.Reference.Host(), registryError(err)))
	}
	return nil
}

// Tagged returns the digest that a tag has in a registry, or an empty digest if the tag does not exist.
func (c *Client) Tagged(ctx context.Context, repository, tag string) (string, error) {
	from, err := c.images(repository)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", repository, err)
	}
	found, err := from.Resolve(ctx, tag)
	if errors.Is(err, errdef.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", repository, c.safe(ctx, from.Reference.Host(), registryError(err)))
	}
	return found.Digest.String(), nil
}

// images returns a repository of images.
func (c *Client) images(name string) (*remote.Repository, error) {
	r, err := remote.NewRepository(name)
	if err != nil {
		return nil, err
	}
	r.PlainHTTP = c.plain(r.Reference.Registry)
	r.Client = &auth.Client{Client: c.http(), Cache: auth.NewCache(), Credential: c.registryCredential}
	return r, nil
}

// blobStorage makes contents by digest a storage to copy from.
type blobStorage struct{ Blobs }

// Exists implements [content.ReadOnlyStorage].
func (s blobStorage) Exists(_ context.Context, d ocispec.Descriptor) (bool, error) {
	content, size, err := s.Open(d.Digest.String())
	if err != nil {
		return false, nil //nolint:nilerr // it is not among them
	}
	return size == d.Size, content.Close()
}

// Fetch implements [content.ReadOnlyStorage].
func (s blobStorage) Fetch(_ context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	content, size, err := s.Open(d.Digest.String())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Digest, errdef.ErrNotFound)
	}
	if size != d.Size {
		return nil, errors.Join(content.Close(), fmt.Errorf("%s has %d bytes, and %d were announced", d.Digest, size, d.Size))
	}
	return content, nil
}
