package deliver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Build is what CI built from a commit of the source. It stays the same while the commit is promoted.
type Build struct {
	// Commit is the full hash.
	Commit string `json:"commit,omitempty"`
	// Version is the human-readable version; empty if CI did not give one.
	Version string `json:"version,omitempty"`
	// Image is the image that was pushed: a tag, "1.4.0", or more of the reference,
	// "registry.example/shop:1.4.0@sha256:…". Several images are separated by commas; all but the first start with
	// their name in the Delivery: "1.4.0,worker=1.4.1".
	Image string `json:"image,omitempty"`
}

// Name returns the version or, without one, the abbreviated commit.
func (b Build) Name() string { return cmp.Or(b.Version, fleet.ShortCommit(b.Commit)) }

// images returns the images of the build, as they must be in the manifests.
func (b Build) images(images []app.Image) ([]chart.Built, error) {
	var built []chart.Built
	for i, part := range strings.Split(b.Image, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		image, reference, err := imageOf(images, part, i)
		if err != nil {
			return nil, err
		}
		repository, tag, digest := splitImage(reference)
		built = append(built, chart.Built{Name: image.Name, Repository: repository, Tag: tag, Digest: digest, RepositoryValue: image.Repository})
	}
	return built, nil
}

// Values returns the chart values that set the images, by dotted path.
func (b Build) Values(images []app.Image) (map[string]string, error) {
	values := map[string]string{}
	set := func(path, text string) {
		if path != "" && text != "" {
			values[path] = text
		}
	}
	for _, image := range images {
		set(image.Version, b.Version)
	}
	for i, part := range strings.Split(b.Image, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		image, reference, err := imageOf(images, part, i)
		if err != nil {
			return nil, err
		}
		repository, tag, digest := splitImage(reference)
		set(image.Repository, repository)
		set(image.Tag, tag)
		set(image.Digest, digest)
	}
	return values, nil
}

// versions returns the paths of the chart values that hold the version.
func (b Build) versions(images []app.Image) []string {
	var paths []string
	for _, image := range images {
		if image.Version != "" && b.Version != "" && !slices.Contains(paths, image.Version) {
			paths = append(paths, image.Version)
		}
	}
	return paths
}

// imageOf returns the Delivery's image that a part of [Build.Image] refers to, and the reference.
func imageOf(images []app.Image, part string, position int) (app.Image, string, error) {
	name, reference, named := strings.Cut(part, "=")
	if !named {
		if position > 0 || len(images) == 0 {
			return app.Image{}, "", fmt.Errorf("%q does not name an image; the Delivery has %s", part, listImages(images))
		}
		return images[0], part, nil
	}
	i := slices.IndexFunc(images, func(image app.Image) bool { return image.Name == name })
	if i < 0 {
		return app.Image{}, "", fmt.Errorf("image %q is unknown; the Delivery has %s", name, listImages(images))
	}
	return images[i], reference, nil
}

func listImages(images []app.Image) string {
	if len(images) == 0 {
		return "none"
	}
	names := make([]string, len(images))
	for i, image := range images {
		names[i] = image.Name
	}
	return strings.Join(names, ", ")
}

// splitImage splits a reference. Without a slash it is a tag, or a digest if it starts with "sha256:".
func splitImage(reference string) (repository, tag, digest string) {
	reference, digest, _ = strings.Cut(reference, "@")
	if strings.HasPrefix(reference, "sha256:") {
		return "", "", reference
	}
	slash := strings.LastIndexByte(reference, '/')
	if slash < 0 {
		return "", reference, digest
	}
	if colon := strings.IndexByte(reference[slash:], ':'); colon >= 0 {
		return reference[:slash+colon], reference[slash+colon+1:], digest
	}
	return reference, "", digest
}

// Check rejects texts that cannot be written to a one-line file, a title or a status.
func (b Build) Check() error {
	for name, text := range map[string]string{"version": b.Version, "image": b.Image} {
		if len(text) > 500 || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '`' }) {
			return fmt.Errorf("the %s %.60q has spaces or invalid characters, or is too long", name, text)
		}
	}
	return nil
}
