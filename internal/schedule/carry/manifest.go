package carry

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	neturl "net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
)

// PayloadType is the type of the manifest in its DSSE envelope.
const PayloadType = "application/vnd.kalypso.bundle+json"

// version is the version of the format that is written, and the only one that is read.
const version = 1

// Manifest describes a bundle.
type Manifest struct {
	Version int `json:"version"`
	// Environment and ClusterType say whose bundle it is.
	Environment string `json:"environment"`
	ClusterType string `json:"clusterType"`
	// Made is when it was made. Of two bundles with the same commits, the later one is newer.
	Made time.Time `json:"made"`
	// GitOps is the branch that clusters follow.
	GitOps GitOps `json:"gitops"`
	// Repositories are the GitOps repository and those of the applications, sorted by URL.
	Repositories []Repository `json:"repositories"`
	// Targets are the assignments of the cluster type, and of its clusters that have a folder of their own, sorted by name.
	Targets []Target `json:"targets"`
	// Images and Charts are sorted by reference.
	Images []Image `json:"images,omitempty"`
	Charts []Chart `json:"charts,omitempty"`
	// Missing is what could not be fetched, sorted.
	Missing []Missing `json:"missing,omitempty"`
	// Files are all other files of the bundle, sorted by name.
	Files []File `json:"files"`
}

// GitOps is a branch of the GitOps repository, at a commit.
type GitOps struct {
	Repository string `json:"repository"`
	Branch     string `json:"branch"`
	Commit     string `json:"commit"`
}

// Repository is a Git repository with some of its branches and tags.
type Repository struct {
	// URL is that of the repository as reconcilers name it.
	URL string `json:"url"`
	// File is the name of the Git bundle.
	File       string      `json:"file"`
	References []Reference `json:"references"`
}

// Reference is a branch or tag: refs/heads/main, refs/tags/v1.
type Reference struct {
	Name   string `json:"name"`
	Commit string `json:"commit"`
}

// Target is an assignment, with the images of its manifests at the commits in the bundle, sorted.
type Target struct {
	// Name is that of the target, or "clusters/<cluster>/<target>" for a cluster that has a folder of its own.
	Name   string   `json:"name"`
	Images []string `json:"images,omitempty"`
}

// Artifact describes the manifest of an image or chart in the image layout. For an image with several platforms it is an index.
type Artifact struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int64  `json:"size"`
}

// Image is an image, as a manifest refers to it.
type Image struct {
	Reference string `json:"reference"`
	Artifact
}

// Chart is a Helm chart.
type Chart struct {
	// Repository is the URL of the repository, Version the version that was found.
	Repository string `json:"repository"`
	Name       string `json:"name"`
	Version    string `json:"version"`
	Artifact
}

// Missing is something that could not be fetched.
type Missing struct {
	// Kind is image, chart, repository or target. Name identifies it.
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// File is a file of a bundle.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// The limits of a bundle. A manifest is read into memory, everything else is not.
const (
	maxManifest = 64 << 20
	maxFiles    = 200_000
	// maxFile is the largest size in the format USTAR, 11 octal digits.
	maxFile = 1<<33 - 1
)

// seal returns the manifest in its signed envelope.
func (m *Manifest) seal(key ed25519.PrivateKey) ([]byte, error) {
	payload, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write the manifest: %w", err)
	}
	text, err := hub.Seal(PayloadType, payload, key)
	if err == nil && len(text) > maxManifest {
		err = fmt.Errorf("the manifest has %d bytes, more than %d", len(text), maxManifest)
	}
	return text, err
}

// unseal verifies an envelope and returns the manifest in it.
func unseal(text []byte, keys []ed25519.PublicKey) (*Manifest, error) {
	payload, _, err := hub.Unseal(text, PayloadType, keys...)
	if err != nil {
		return nil, err
	}
	var m Manifest
	if err := json.Unmarshal(payload, &m); err != nil {
		return nil, fmt.Errorf("read the manifest: %w", err)
	}
	return &m, m.check()
}

// The forms of what a manifest names.
var (
	fileName = regexp.MustCompile(`^(?:git/[1-9][0-9]{0,5}\.bundle|blobs/sha256/[0-9a-f]{64}|index\.json|oci-layout)$`)
	commitID = regexp.MustCompile(`^[0-9a-f]{40}$`)
	hexSum   = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// check reports what is wrong with a manifest. The sender is trusted to decide what is in a bundle, but not to be free of errors: names
// become names of branches, repositories and images.
func (m *Manifest) check() error {
	if m.Version != version {
		return fmt.Errorf("it has version %d of the format, and this program reads %d; use the version of Kalypso that made it", m.Version, version)
	}
	for _, name := range []string{m.Environment, m.ClusterType} {
		if len(validation.IsDNS1123Label(name)) > 0 {
			return fmt.Errorf("%.100q is not the name of an environment or cluster type", name)
		}
	}
	if m.Made.IsZero() {
		return errors.New("it does not say when it was made")
	}
	if err := m.checkFiles(); err != nil {
		return err
	}
	if err := m.checkRepositories(); err != nil {
		return err
	}
	return m.checkArtifacts()
}

func (m *Manifest) checkFiles() error {
	if len(m.Files) > maxFiles {
		return fmt.Errorf("it has %d files, more than %d", len(m.Files), maxFiles)
	}
	for i, f := range m.Files {
		switch {
		case !fileName.MatchString(f.Name):
			return fmt.Errorf("%.200q is not the name of a file of a bundle", f.Name)
		case i > 0 && m.Files[i-1].Name >= f.Name:
			return fmt.Errorf("its files are not sorted, or %q is there twice", f.Name)
		case f.Size < 0 || f.Size > maxFile || !hexSum.MatchString(f.SHA256):
			return fmt.Errorf("size or digest of %q is not valid", f.Name)
		case strings.HasPrefix(f.Name, "blobs/") && path.Base(f.Name) != f.SHA256:
			return fmt.Errorf("%q is not named after its digest", f.Name)
		}
	}
	return nil
}

// has reports whether the bundle has a file.
func (m *Manifest) has(name string) bool {
	_, found := slices.BinarySearchFunc(m.Files, name, func(f File, name string) int { return strings.Compare(f.Name, name) })
	return found
}

// checkURL reports what is wrong with the URL of a repository, which becomes the path of a folder inside.
func checkURL(url string) error {
	odd := func(r rune) bool { return unicode.IsControl(r) || r == '\\' }
	if url == "" || len(url) > hub.MaxAddress || strings.ContainsFunc(url, odd) {
		return fmt.Errorf("%.200q is not the URL of a repository", url)
	}
	decoded, err := neturl.PathUnescape(url)
	if err != nil || slices.Contains(strings.Split(url, "/"), "..") || slices.Contains(strings.Split(decoded, "/"), "..") {
		return fmt.Errorf("the URL %.200q does not have a plain path", url)
	}
	return nil
}

func (m *Manifest) checkRepositories() error {
	gitOps := false
	files := map[string]bool{}
	for i, r := range m.Repositories {
		if err := checkURL(r.URL); err != nil {
			return err
		}
		if i > 0 && m.Repositories[i-1].URL >= r.URL || !m.has(r.File) || !strings.HasPrefix(r.File, "git/") || files[r.File] {
			return fmt.Errorf("repository %.200q is there twice, not sorted, or without a Git bundle of its own", r.URL)
		}
		files[r.File] = true
		for j, ref := range r.References {
			known := strings.HasPrefix(ref.Name, "refs/heads/") || strings.HasPrefix(ref.Name, "refs/tags/")
			if !known || !commitID.MatchString(ref.Commit) || j > 0 && r.References[j-1].Name >= ref.Name || strings.HasPrefix(ref.Name, "refs/heads/"+statePrefix) {
				return fmt.Errorf("%.200q is not a branch or tag that a bundle can have", ref.Name)
			}
			gitOps = gitOps || r.URL == m.GitOps.Repository && ref == m.GitOps.reference()
		}
	}
	if !gitOps {
		return fmt.Errorf("it lacks branch %.200q of the GitOps repository %.200q", m.GitOps.Branch, m.GitOps.Repository)
	}
	return nil
}

// reference returns the GitOps branch.
func (g GitOps) reference() Reference { return Reference{"refs/heads/" + g.Branch, g.Commit} }

func (m *Manifest) checkArtifacts() error {
	for i, image := range m.Images {
		if i > 0 && m.Images[i-1].Reference >= image.Reference {
			return fmt.Errorf("image %.200q is there twice, or not sorted", image.Reference)
		}
		if _, err := chart.ParseImage(image.Reference); err != nil {
			return err
		}
		if !m.hasBlob(image.Artifact) {
			return fmt.Errorf("the manifest of image %q is not in it", image.Reference)
		}
	}
	for _, c := range m.Charts {
		if _, err := chart.ParseImage(c.reference()); err != nil {
			return fmt.Errorf("chart %.100q of %.200q: %w", c.Name, c.Repository, err)
		}
		if !m.hasBlob(c.Artifact) {
			return fmt.Errorf("the manifest of chart %.200q is not in it", c.Name)
		}
	}
	return nil
}

func (m *Manifest) hasBlob(a Artifact) bool {
	sum, ok := strings.CutPrefix(a.Digest, "sha256:")
	return ok && m.has("blobs/sha256/"+sum)
}

// reference returns the reference of a chart in a registry: host and path of its repository, its name, and its version as a tag.
func (c Chart) reference() string {
	_, rest, _ := strings.Cut(c.Repository, "://")
	rest = strings.Trim(rest, "/")
	if !strings.HasPrefix(c.Repository, "oci://") || path.Base(rest) != c.Name {
		rest = path.Join(rest, c.Name)
	}
	return rest + ":" + strings.ReplaceAll(c.Version, "+", "_")
}

// sumOf returns the SHA-256 of a text in hexadecimal form.
func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
