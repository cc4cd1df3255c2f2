package solution

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// The media types of an artifact. The layer has that of images, because Flux and Argo CD read it: Argo CD accepts no others
// (https://argo-cd.readthedocs.io/en/stable/user-guide/oci/), and Flux takes the first layer.
const (
	ArtifactType   = "application/vnd.kalypso.solution.v1"
	DescriptorType = "application/vnd.kalypso.solution.descriptor.v1+json"
	LayerType      = ocispec.MediaTypeImageLayerGzip
)

// Version is a solution version.
type Version struct {
	Descriptor
	// Files are sorted by path.
	Files []File
}

// Seal completes a version with the digests of its files.
func Seal(d Descriptor, files []File) (*Version, error) {
	v := &Version{Descriptor: d, Files: slices.Clone(files)}
	v.FormatVersion, v.Merged = FormatVersion, d.Merged.UTC().Truncate(time.Second)
	sortFiles(v.Files)
	v.Targets = slices.Clone(d.Targets)
	size, err := checkFiles(v.Files)
	if err != nil {
		return nil, err
	}
	v.Content = Content{Digest: ContentDigest(v.Files), Files: len(v.Files), Bytes: size}
	digests, err := v.targetDigests()
	if err != nil {
		return nil, err
	}
	for i := range v.Targets {
		v.Targets[i].Digest = digests[v.Targets[i].Name]
	}
	return v, v.check()
}

// targetDigests returns the digests of the files of each target.
func (v *Version) targetDigests() (map[string]string, error) {
	owner := v.owner()
	files := map[string][]File{}
	for _, f := range v.Files {
		target, ok := owner(f.Path)
		if !ok {
			return nil, fmt.Errorf("the file %q belongs to no target", f.Path)
		}
		files[target] = append(files[target], f)
	}
	digests := map[string]string{}
	for _, t := range v.Targets {
		digests[t.Name] = ContentDigest(files[t.Name])
	}
	return digests, nil
}

// Blob is a part of an artifact.
type Blob struct {
	ocispec.Descriptor
	Content []byte
}

func newBlob(mediaType string, content []byte) Blob {
	return Blob{ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(content), Size: int64(len(content))}, content}
}

// Artifact is a version as registries store it.
type Artifact struct {
	// Manifest refers to the others by their digests.
	Manifest, Config, Layer Blob
}

// Artifact returns the version as registries store it. The annotations are those of
// https://github.com/opencontainers/image-spec/blob/v1.1.1/annotations.md; Flux shows source, revision and time,
// with the revision in its own format: https://fluxcd.io/flux/cmd/flux_push_artifact/.
func (v *Version) Artifact() (*Artifact, error) {
	text, err := v.encode()
	if err != nil {
		return nil, err
	}
	if len(text) > MaxDescriptor {
		return nil, fmt.Errorf("the descriptor has more than %d MiB", MaxDescriptor>>20)
	}
	layer, err := pack(v.Files)
	if err != nil {
		return nil, err
	}
	a := &Artifact{Config: newBlob(DescriptorType, text), Layer: newBlob(LayerType, layer)}
	about := map[string]string{
		ocispec.AnnotationTitle: v.Title(), ocispec.AnnotationCreated: v.Merged.Format(time.RFC3339),
		ocispec.AnnotationSource: v.Inputs.GitOps.Repository, ocispec.AnnotationRevision: v.Inputs.GitOps.Branch + "@sha1:" + v.Inputs.GitOps.Commit,
	}
	if v.Release != "" {
		about[ocispec.AnnotationVersion] = v.Release
	}
	manifest, err := json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: ArtifactType,
		Config: a.Config.Descriptor, Layers: []ocispec.Descriptor{a.Layer.Descriptor}, Annotations: about,
	})
	a.Manifest = newBlob(ocispec.MediaTypeImageManifest, manifest)
	return a, err
}

// ReadManifest returns what a manifest refers to: the descriptor, and the layer. It refuses a manifest of anything but a version, and parts that are too large.
func ReadManifest(text []byte) (config, layer ocispec.Descriptor, err error) {
	var m ocispec.Manifest
	if len(text) > MaxManifest {
		return config, layer, fmt.Errorf("the manifest has more than %d MiB", MaxManifest>>20)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return config, layer, fmt.Errorf("parse the manifest: %w", err)
	}
	switch {
	case m.ArtifactType != ArtifactType || m.Config.MediaType != DescriptorType:
		return config, layer, fmt.Errorf("it is not a solution version: its type is %.100q", m.ArtifactType)
	case len(m.Layers) != 1 || m.Layers[0].MediaType != LayerType:
		return config, layer, errors.New("it does not have one layer with files")
	}
	config, layer = m.Config, m.Layers[0]
	for _, part := range []struct {
		ocispec.Descriptor
		limit int64
	}{{config, MaxDescriptor}, {layer, MaxLayer}} {
		if part.Size < 0 || part.Size > part.limit {
			return config, layer, fmt.Errorf("%.100q has %d bytes, more than the %d that are read", part.MediaType, part.Size, part.limit)
		}
		if part.Digest.Validate() != nil || part.Digest.Algorithm() != digest.SHA256 { // in this order: an invalid digest has no algorithm
			return config, layer, fmt.Errorf("%.100q is not a digest", part.Digest)
		}
	}
	return config, layer, nil
}

// Open returns the version in an artifact.
func Open(manifest, config, layer []byte) (*Version, error) {
	wantConfig, wantLayer, err := ReadManifest(manifest)
	if err != nil {
		return nil, err
	}
	for _, part := range []struct {
		want    ocispec.Descriptor
		content []byte
	}{{wantConfig, config}, {wantLayer, layer}} {
		if got := digest.FromBytes(part.content); got != part.want.Digest {
			return nil, fmt.Errorf("%s has the digest %s, and the manifest names %s", part.want.MediaType, got, part.want.Digest)
		}
	}
	d, err := ReadDescriptor(config)
	if err != nil {
		return nil, fmt.Errorf("read the descriptor: %w", err)
	}
	files, err := unpack(layer)
	if err != nil {
		return nil, fmt.Errorf("read the content: %w", err)
	}
	v, err := Seal(*d, files)
	if err != nil {
		return nil, fmt.Errorf("read the content: %w", err)
	}
	if v.Content != d.Content {
		return nil, fmt.Errorf("the content has the digest %s, and the descriptor names %.100q", v.Content.Digest, d.Content.Digest)
	}
	if sealed, err := v.encode(); err != nil || !bytes.Equal(sealed, config) {
		return nil, errors.New("the digests of its targets are not those of their files")
	}
	return v, nil
}
