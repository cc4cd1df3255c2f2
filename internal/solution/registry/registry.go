// Package registry publishes solution versions to registries and to folders with an OCI image layout, and reads them from there.
//
// A tag of a version is immutable: [Store.Publish] refuses to move it to a version with other files or inputs. Only the tag of the
// environment moves. Registries cannot compare and set a tag in one step, so that of two publishers at the same time the last one wins;
// versions are therefore known by their digest.
//
// What is read is not trusted: sizes are checked before anything is fetched, and digests after it.
package registry

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/errdef"

	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/solution"
	"github.com/kalypso-io/kalypso/internal/solution/provenance"
)

// Store is a repository of a registry, or a folder.
type Store struct {
	target oras.GraphTarget
	name   string
	// safe removes credentials from errors.
	safe func(ctx context.Context, err error) error
}

// Reference is a place, and optionally a tag or digest in it.
type Reference struct {
	// Repository is "host/path" of a registry; Folder is a folder with an image layout. One of them is set.
	Repository, Folder string
	// Tag and Digest are optional.
	Tag, Digest string
}

// scheme is what names of repositories in registries begin with, as in Helm and Flux.
const scheme = "oci://"

var (
	// Repositories and tags are those of https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pulling-manifests.
	repositoryName = regexp.MustCompile(`^[A-Za-z0-9.-]+(:[0-9]+)?(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)+$`)
	tagName        = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`)
)

// Parse parses a reference: "oci://registry.example/team/shop:dev", also with a digest, or "folder:dev".
func Parse(text string) (Reference, error) {
	rest, isRegistry := strings.CutPrefix(text, scheme)
	rest, hash, hasDigest := strings.Cut(rest, "@")
	var r Reference
	if hasDigest {
		if d, err := digest.Parse(hash); err != nil || d.Algorithm() != digest.SHA256 {
			return r, fmt.Errorf("%q is not a digest with sha256", hash)
		}
		r.Digest = hash
	}
	if colon := strings.LastIndexByte(rest, ':'); colon > strings.LastIndexAny(rest, `/\`) {
		if rest, r.Tag = rest[:colon], rest[colon+1:]; !tagName.MatchString(r.Tag) {
			return r, fmt.Errorf("%q is not a tag", r.Tag)
		}
	}
	if !isRegistry {
		if rest == "" || strings.Contains(rest, "://") {
			return r, errors.New("it has to be oci://REGISTRY/REPOSITORY or a folder")
		}
		r.Folder = rest
		return r, nil
	}
	if !repositoryName.MatchString(rest) {
		return r, fmt.Errorf("%q is not a registry with a repository, such as registry.example/team/shop", rest)
	}
	r.Repository = rest
	return r, nil
}

// String returns the reference as [Parse] takes it.
func (r Reference) String() string {
	text := r.Folder
	if r.Repository != "" {
		text = scheme + r.Repository
	}
	if r.Tag != "" {
		text += ":" + r.Tag
	}
	if r.Digest != "" {
		text += "@" + r.Digest
	}
	return text
}

// At returns a reference to a digest in the same place.
func (r Reference) At(digest string) Reference {
	return Reference{Repository: r.Repository, Folder: r.Folder, Digest: digest}
}

// Open returns the place of a reference. create allows to create a folder that does not exist.
func Open(client *remote.Client, r Reference, create bool) (*Store, error) {
	if r.Folder != "" {
		if _, err := os.Stat(filepath.Join(r.Folder, ocispec.ImageLayoutFile)); err != nil && !create {
			return nil, fmt.Errorf("%q is not a folder with an OCI image layout; a registry begins with %s", r.Folder, scheme)
		}
		target, err := oci.New(r.Folder)
		if err != nil {
			return nil, fmt.Errorf("open the image layout %q: %w", r.Folder, err)
		}
		return &Store{target: target, name: r.Folder, safe: func(_ context.Context, err error) error { return err }}, nil
	}
	repository, err := client.Repository(r.Repository)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r, err)
	}
	return &Store{target: repository, name: scheme + r.Repository, safe: func(ctx context.Context, err error) error {
		return client.Safe(ctx, repository.Reference.Host(), err)
	}}, nil
}

// Stored is a version in a store.
type Stored struct {
	*solution.Version
	// Artifact is the digest of its manifest.
	Artifact string

	manifest ocispec.Descriptor
}

// ErrNone is returned for a tag or digest that a store does not have.
var ErrNone = errors.New("there is no such version")

// Get returns the version that a tag or digest names.
func (s *Store) Get(ctx context.Context, tagOrDigest string) (*Stored, error) {
	found, err := s.get(ctx, tagOrDigest)
	if err != nil {
		return nil, fmt.Errorf("read %q of %s: %w", tagOrDigest, s.name, err)
	}
	return found, nil
}

func (s *Store) get(ctx context.Context, tagOrDigest string) (*Stored, error) {
	root, err := s.resolve(ctx, tagOrDigest)
	if err != nil {
		return nil, err
	}
	if root.Size > solution.MaxManifest || root.Digest.Validate() != nil || root.Digest.Algorithm() != digest.SHA256 {
		return nil, fmt.Errorf("it is not a solution version: %s has %d bytes", root.Digest, root.Size)
	}
	manifest, err := s.fetch(ctx, root)
	if err != nil {
		return nil, err
	}
	config, layer, err := solution.ReadManifest(manifest)
	if err != nil {
		return nil, err
	}
	configText, err := s.fetch(ctx, config)
	if err != nil {
		return nil, err
	}
	layerBytes, err := s.fetch(ctx, layer)
	if err != nil {
		return nil, err
	}
	v, err := solution.Open(manifest, configText, layerBytes)
	return &Stored{Version: v, Artifact: root.Digest.String(), manifest: root}, err
}

// resolve returns what a tag or digest names, or [ErrNone].
func (s *Store) resolve(ctx context.Context, tagOrDigest string) (ocispec.Descriptor, error) {
	found, err := s.target.Resolve(ctx, tagOrDigest)
	if errors.Is(err, errdef.ErrNotFound) {
		return found, ErrNone
	}
	return found, s.cleaned(ctx, err)
}

// fetch returns a blob whose size was checked, and checks its digest.
func (s *Store) fetch(ctx context.Context, d ocispec.Descriptor) ([]byte, error) {
	if err := d.Digest.Validate(); err != nil {
		return nil, fmt.Errorf("%.100q: %w", d.Digest, err)
	}
	text, err := content.FetchAll(ctx, s.target, d)
	if errors.Is(err, content.ErrMismatchedDigest) || errors.Is(err, content.ErrTrailingData) {
		return nil, fmt.Errorf("%s has other content than its digest says: it was damaged, or replaced", d.Digest)
	}
	return text, s.cleaned(ctx, err)
}

// cleaned returns an error of the store without credentials.
func (s *Store) cleaned(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return s.safe(ctx, err)
}

// Published is what [Store.Publish] did.
type Published struct {
	Stored *Stored
	// New reports that the store did not have the version. Its first artifact stays, even if this program would compress it in another way.
	New bool
	// Moved reports that the environment's tag was moved to it.
	Moved bool
}

// ErrTaken is returned for a tag that another version has.
var ErrTaken = errors.New("versions are not replaced")

// Publish stores a version under its tags, which must be free or name the same version, and moves the tag moving to it; empty for none.
func (s *Store) Publish(ctx context.Context, v *solution.Version, tags []string, moving string) (*Published, error) {
	p, err := s.publish(ctx, v, tags, moving)
	if err != nil {
		return nil, fmt.Errorf("publish to %s: %w", s.name, err)
	}
	return p, nil
}

func (s *Store) publish(ctx context.Context, v *solution.Version, tags []string, moving string) (*Published, error) {
	p := &Published{}
	var missing []string
	for _, tag := range tags {
		there, err := s.get(ctx, tag)
		if errors.Is(err, ErrNone) {
			missing = append(missing, tag)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("the tag %s: %w", tag, err)
		}
		if differences := solution.Compare(there.Version, v); len(differences) > 0 {
			return nil, fmt.Errorf("the tag %s is another version, %s, and %w: %s", tag, there.Artifact, ErrTaken, differences[0])
		}
		if p.Stored == nil {
			p.Stored = there
		}
	}
	if p.Stored == nil {
		stored, err := s.push(ctx, v)
		if err != nil {
			return nil, err
		}
		p.Stored, p.New = stored, true
	}
	if moving != "" {
		there, err := s.resolve(ctx, moving)
		if err != nil && !errors.Is(err, ErrNone) {
			return nil, err
		}
		if err != nil || there.Digest != p.Stored.manifest.Digest {
			missing, p.Moved = append(missing, moving), true
		}
	}
	for _, tag := range missing {
		if err := s.target.Tag(ctx, p.Stored.manifest, tag); err != nil {
			return nil, fmt.Errorf("the tag %s: %w", tag, s.cleaned(ctx, err))
		}
	}
	return p, nil
}

// Release is what [Store.Release] publishes a version with.
type Release struct {
	// Tags are additional tags, which are immutable as well.
	Tags []string
	// Latest moves the tag of the environment to the version.
	Latest bool
	// Key signs the attestation; nil for none.
	Key ed25519.PrivateKey
}

// Released is what [Store.Release] did.
type Released struct {
	*Published
	// Unchanged reports that the merged commit has the files, and the other inputs, of the environment's published version, which then stays.
	// That is the case after merges of other applications on the same branch.
	Unchanged bool
	// Tags are those of the version.
	Tags []string
	// Attested reports that the attestation was added.
	Attested bool
}

// VersionTag returns the tag of a version: its environment, and its merged commit.
func VersionTag(v *solution.Version) string {
	return v.Environment + "-" + v.Inputs.GitOps.Commit[:12]
}

// Release publishes a version under its own tag and that of its environment, with an attestation. It can be repeated.
func (s *Store) Release(ctx context.Context, v *solution.Version, r Release) (*Released, error) {
	out := &Released{Tags: append([]string{VersionTag(v)}, r.Tags...)}
	for _, tag := range r.Tags {
		if !tagName.MatchString(tag) || tag == v.Environment {
			return nil, fmt.Errorf("%q cannot be a tag of a version", tag)
		}
	}
	moving := ""
	if r.Latest {
		moving = v.Environment
	}
	latest, err := s.Get(ctx, v.Environment)
	switch {
	case errors.Is(err, ErrNone):
	case err != nil:
		return nil, err
	case latest.Application != v.Application:
		return nil, fmt.Errorf("publish to %s: it has versions of %s: %w", s.name, owner(latest.Version), ErrTaken)
	case v.IsPlatform() && !sameBranch(latest.Inputs.GitOps, v.Inputs.GitOps):
		return nil, fmt.Errorf("publish to %s: it has versions of branch %q of %s: %w", s.name, latest.Inputs.GitOps.Branch, latest.Inputs.GitOps.Repository, ErrTaken)
	case unchanged(latest.Version, v) && len(r.Tags) == 0:
		// This server did not make the latest version from the commit that it names, so it is not signed now.
		if signed, err := s.signed(ctx, latest, r.Key); err != nil {
			return nil, err
		} else if !signed {
			break
		}
		out.Published, out.Unchanged, out.Tags = &Published{Stored: latest}, true, []string{VersionTag(latest.Version)}
		moving = ""
	}
	if out.Published == nil {
		if out.Published, err = s.Publish(ctx, v, out.Tags, moving); err != nil {
			return nil, err
		}
	}
	if moving != "" || out.Unchanged {
		out.Tags = append(out.Tags, v.Environment)
	}
	if r.Key != nil && !out.Unchanged {
		if out.Attested, err = s.attest(ctx, out.Published, v, r.Key); err != nil {
			return nil, fmt.Errorf("publish to %s: %w", s.name, err)
		}
	}
	return out, nil
}

// owner says whose versions a repository has.
func owner(v *solution.Version) string {
	if v.IsPlatform() {
		return "the platform"
	}
	return fmt.Sprintf("the application %q", v.Application)
}

// sameBranch reports whether two inputs are of the same folder of a branch. Two control planes can have environments of the same name, and must not
// replace each other's versions.
func sameBranch(a, b solution.Input) bool {
	a.Commit = b.Commit
	return a == b
}

// attest signs a published version, unless it is signed, and returns whether it did. [Store.Publish] accepts an artifact that was there
// with other results of checks, because these can come from another release or from the platform's rules; what this program did not find is not signed.
func (s *Store) attest(ctx context.Context, p *Published, v *solution.Version, key ed25519.PrivateKey) (bool, error) {
	if signed, err := s.signed(ctx, p.Stored, key); err != nil || signed {
		return false, err
	}
	if !p.New && p.Stored.Digest() != v.Digest() {
		return false, fmt.Errorf("%s was published without a signature, by another program or with other results of checks, and is not signed now: %w; "+
			"publish the version to another repository, or remove its tags", p.Stored.Artifact, ErrTaken)
	}
	bundle, err := provenance.Sign(p.Stored.Version, p.Stored.Artifact, key)
	if err != nil {
		return false, err
	}
	return s.Attach(ctx, p.Stored, bundle)
}

// signed reports whether a version has the attestation of a key. Without a key it needs none.
func (s *Store) signed(ctx context.Context, v *Stored, key ed25519.PrivateKey) (bool, error) {
	if key == nil {
		return true, nil
	}
	public, ok := key.Public().(ed25519.PublicKey)
	if !ok {
		return false, errors.New("the key has no public key")
	}
	bundles, err := s.Bundles(ctx, v)
	return slices.ContainsFunc(bundles, func(b []byte) bool { return provenance.Verify(b, v.Version, v.Artifact, public) == nil }), err
}

// unchanged reports whether a version differs from a published one in nothing but its merged commit.
func unchanged(published, v *solution.Version) bool {
	at := v.Inputs.GitOps
	at.Commit = published.Inputs.GitOps.Commit
	if published.Inputs.GitOps != at || at == v.Inputs.GitOps {
		return false
	}
	return !slices.ContainsFunc(solution.Compare(published, v), func(d solution.Difference) bool { return d.Field != "inputs.gitops" && d.Field != "merged" })
}

// push stores the parts of a version, the manifest last.
func (s *Store) push(ctx context.Context, v *solution.Version) (*Stored, error) {
	a, err := v.Artifact()
	if err != nil {
		return nil, err
	}
	for _, blob := range []solution.Blob{a.Config, a.Layer, a.Manifest} {
		if err := s.put(ctx, blob.Descriptor, blob.Content); err != nil {
			return nil, err
		}
	}
	return &Stored{Version: v, Artifact: a.Manifest.Digest.String(), manifest: a.Manifest.Descriptor}, nil
}

// put stores a blob unless it is there.
func (s *Store) put(ctx context.Context, d ocispec.Descriptor, text []byte) error {
	there, err := s.target.Exists(ctx, d)
	if err == nil && !there {
		err = s.target.Push(ctx, d, bytes.NewReader(text))
	}
	if errors.Is(err, errdef.ErrAlreadyExists) {
		err = nil
	}
	return s.cleaned(ctx, err)
}

// Attach stores a bundle as a referrer of a version, unless it is there. It returns whether it was not.
//
// The manifest is that of cosign: https://github.com/sigstore/cosign/blob/main/specs/BUNDLE_SPEC.md.
func (s *Store) Attach(ctx context.Context, to *Stored, bundle []byte) (bool, error) {
	blob := ocispec.Descriptor{MediaType: provenance.BundleType, Digest: digest.FromBytes(bundle), Size: int64(len(bundle))}
	subject := to.manifest
	subject.Annotations = nil
	manifest, err := json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: provenance.BundleType,
		Config: ocispec.DescriptorEmptyJSON, Layers: []ocispec.Descriptor{blob}, Subject: &subject,
		Annotations: map[string]string{
			"dev.sigstore.bundle.content": "dsse-envelope", "dev.sigstore.bundle.predicateType": provenance.PredicateType,
			ocispec.AnnotationCreated: to.Merged.Format("2006-01-02T15:04:05Z07:00"),
		},
	})
	if err != nil {
		return false, err
	}
	root := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.FromBytes(manifest), Size: int64(len(manifest))}
	there, err := s.target.Exists(ctx, root)
	if err = s.cleaned(ctx, err); err == nil && !there {
		err = errors.Join(s.put(ctx, ocispec.DescriptorEmptyJSON, ocispec.DescriptorEmptyJSON.Data), s.put(ctx, blob, bundle))
		if err == nil {
			err = s.put(ctx, root, manifest)
		}
	}
	if err != nil {
		return false, fmt.Errorf("attach the attestation to %s in %s: %w", to.Artifact, s.name, err)
	}
	return !there, nil
}

// maxBundles is how many bundles of a version are read.
const maxBundles = 64

// Bundles returns the Sigstore bundles that refer to a version.
func (s *Store) Bundles(ctx context.Context, of *Stored) ([][]byte, error) {
	bundles, err := s.bundles(ctx, of)
	if err != nil {
		return nil, fmt.Errorf("read the attestations of %s in %s: %w", of.Artifact, s.name, err)
	}
	return bundles, nil
}

func (s *Store) bundles(ctx context.Context, of *Stored) ([][]byte, error) {
	referrers, err := s.target.Predecessors(ctx, of.manifest)
	if err != nil {
		return nil, s.cleaned(ctx, err)
	}
	var bundles [][]byte
	for _, r := range referrers {
		if r.MediaType != ocispec.MediaTypeImageManifest || r.Size > solution.MaxManifest {
			continue
		}
		if len(bundles) == maxBundles {
			return nil, fmt.Errorf("there are more than %d", maxBundles)
		}
		text, err := s.fetch(ctx, r)
		if err != nil {
			return nil, err
		}
		var m ocispec.Manifest
		if json.Unmarshal(text, &m) != nil || m.ArtifactType != provenance.BundleType || len(m.Layers) != 1 || m.Layers[0].Size > provenance.MaxBundle {
			continue
		}
		bundle, err := s.fetch(ctx, m.Layers[0])
		if err != nil {
			return nil, err
		}
		bundles = append(bundles, bundle)
	}
	return bundles, nil
}
