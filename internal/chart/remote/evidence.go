package remote

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/kalypso-io/kalypso/internal/chart"
)

// The media types of signatures and statements. Bundles have a version at their end.
const (
	simpleSigningType   = "application/vnd.dev.cosign.simplesigning.v1+json"
	envelopeType        = "application/vnd.dsse.envelope.v1+json"
	bundlePrefix        = "application/vnd.dev.sigstore.bundle"
	cosignPrefix        = "application/vnd.dev.cosign."
	signatureAnnotation = "dev.cosignproject.cosign/signature"
)

// The limits of what is read beside one image.
const (
	maxEvidence     = 50
	maxEvidenceSize = 1 << 20
	maxReferrers    = 500
)

// Evidence reads the signatures and statements about a digest from the registry of an image: those that refer to it, and those with the tags of
// cosign, sha256-HASH.sig and sha256-HASH.att. It also returns what it has read so far when it fails.
// An image without any evidence is not an error.
func (c *Client) Evidence(ctx context.Context, image chart.Image, digest string) (chart.Evidence, error) {
	e := evidenceReader{left: maxEvidence}
	repository, err := c.images(image.Repository)
	if err == nil {
		e.repository = repository
		if err = e.read(ctx, digest); err != nil {
			err = c.safe(ctx, repository.Reference.Host(), registryError(err))
		}
	}
	if err != nil {
		err = fmt.Errorf("read the signatures of %s: %w", image.At(digest), err)
	}
	return e.found, err
}

// evidenceReader reads evidence, as much as is left.
type evidenceReader struct {
	repository *remote.Repository
	found      chart.Evidence
	left       int
}

func (e *evidenceReader) read(ctx context.Context, digest string) error {
	var failed []error
	for _, kind := range []string{".sig", ".att"} {
		err := e.manifest(ctx, strings.Replace(digest, ":", "-", 1)+kind)
		if err != nil && !errors.Is(err, errdef.ErrNotFound) {
			failed = append(failed, err)
		}
	}
	subject, err := e.repository.Resolve(ctx, digest)
	if err != nil {
		return errors.Join(append(failed, err)...)
	}
	seen := 0
	err = e.repository.Referrers(ctx, subject, "", func(referrers []ocispec.Descriptor) error {
		for _, r := range referrers {
			if seen++; seen > maxReferrers {
				return fmt.Errorf("more than %d artifacts refer to it", maxReferrers)
			}
			if r.ArtifactType != envelopeType && !strings.HasPrefix(r.ArtifactType, bundlePrefix) && !strings.HasPrefix(r.ArtifactType, cosignPrefix) {
				continue
			}
			if err := e.manifest(ctx, r.Digest.String()); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(append(failed, err)...)
}

// manifest reads the layers of a manifest.
func (e *evidenceReader) manifest(ctx context.Context, reference string) error {
	described, content, err := e.repository.Manifests().FetchReference(ctx, reference)
	if err != nil {
		return err
	}
	defer content.Close() //nolint:errcheck // nothing was written
	text, err := readAll(content, described.Size, maxManifest, "the manifest")
	if err != nil {
		return err
	}
	if described.Digest.String() != digestOf(text) {
		return fmt.Errorf("the manifest has the digest %s, and %s was announced", digestOf(text), described.Digest)
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("read manifest: %w", err)
	}
	for _, layer := range m.Layers {
		bundle := strings.HasPrefix(layer.MediaType, bundlePrefix)
		if layer.MediaType != simpleSigningType && layer.MediaType != envelopeType && !bundle {
			continue
		}
		if e.left--; e.left < 0 {
			return fmt.Errorf("it has more than %d signatures and statements", maxEvidence)
		}
		content, err := e.blob(ctx, layer)
		if err != nil {
			return err
		}
		switch {
		case bundle:
			e.found.Bundles = append(e.found.Bundles, content)
		case layer.MediaType == envelopeType:
			e.found.Envelopes = append(e.found.Envelopes, content)
		default:
			if signature, err := base64.StdEncoding.DecodeString(layer.Annotations[signatureAnnotation]); err == nil {
				e.found.Signatures = append(e.found.Signatures, chart.Signature{Payload: content, Signature: signature})
			}
		}
	}
	return nil
}

func (e *evidenceReader) blob(ctx context.Context, layer ocispec.Descriptor) ([]byte, error) {
	if layer.Size > maxEvidenceSize {
		return nil, fmt.Errorf("a signature or statement has %d bytes, more than the %d that are read", layer.Size, maxEvidenceSize)
	}
	_, content, err := e.repository.Blobs().FetchReference(ctx, layer.Digest.String())
	if err != nil {
		return nil, err
	}
	defer content.Close() //nolint:errcheck // nothing was written
	text, err := readAll(content, layer.Size, maxEvidenceSize, "a signature or statement")
	if err == nil && digestOf(text) != layer.Digest.String() {
		err = fmt.Errorf("a blob has the digest %s, and %s was announced", digestOf(text), layer.Digest)
	}
	return text, err
}
