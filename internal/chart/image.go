package chart

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Image is a parsed reference to an image.
type Image struct {
	// Repository is the registry and the path in it, "docker.io/library/nginx".
	Repository string
	// Tag is the tag to resolve. Empty if there is a digest.
	Tag string
	// Digest is empty if the reference has none.
	Digest string
}

// Defaults of the parts of a reference.
const (
	defaultRegistry = "docker.io"
	defaultFolder   = "library/"
	defaultTag      = "latest"
)

// maxReference is the maximum length of a reference, in bytes.
const maxReference = 1024

// The grammar of references, as registries define it. All begin with a letter, a digit or a bracket,
// so that none is mistaken for an option.
var (
	registryName = regexp.MustCompile(`^(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[0-9a-fA-F:]+\])(?::[0-9]{1,5})?$`)
	imagePath    = regexp.MustCompile(`^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*$`)
	imageTag     = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}$`)
	digestForm   = regexp.MustCompile(`^sha(?:256:[0-9a-f]{64}|512:[0-9a-f]{128})$`)
)

// IsDigest reports whether a text is a digest.
func IsDigest(text string) bool { return digestForm.MatchString(text) }

// ParseImage parses a reference as container runtimes do: "nginx" is docker.io/library/nginx:latest.
func ParseImage(reference string) (Image, error) {
	if len(reference) > maxReference {
		return Image{}, fmt.Errorf("%.60q... is too long for an image reference", reference)
	}
	name, digest, hasDigest := strings.Cut(reference, "@")
	tag := ""
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name, tag = name[:i], name[i+1:]
		if !imageTag.MatchString(tag) {
			return Image{}, fmt.Errorf("%q is not an image reference: %q is not a tag", reference, tag)
		}
	}
	if hasDigest {
		tag = "" // the digest takes precedence
		if !IsDigest(digest) {
			return Image{}, fmt.Errorf("%q is not an image reference: %q is not a digest", reference, digest)
		}
	} else if tag == "" {
		tag = defaultTag
	}
	registry, path, found := strings.Cut(name, "/")
	if !found || !strings.ContainsAny(registry, ".:[") && registry != "localhost" {
		registry, path = defaultRegistry, name
	}
	if registry == defaultRegistry && !strings.Contains(path, "/") {
		path = defaultFolder + path
	}
	if !registryName.MatchString(registry) || !imagePath.MatchString(path) {
		return Image{}, fmt.Errorf("%q is not an image reference", reference)
	}
	image := Image{Repository: registry + "/" + path, Tag: tag, Digest: digest}
	if len(image.String()) > maxReference {
		return Image{}, fmt.Errorf("%.60q... is too long for an image reference, with its registry and tag", reference)
	}
	return image, nil
}

// String returns the full reference.
func (i Image) String() string {
	if i.Digest != "" {
		return i.At(i.Digest)
	}
	return i.Repository + ":" + i.Tag
}

// At returns the reference to a digest in the image's repository.
func (i Image) At(digest string) string { return i.Repository + "@" + digest }

// ImagesIn returns the container images in a text with YAML documents, sorted: every field "image" at any depth, of which some may not be
// images. Documents that are not maps have none.
func ImagesIn(content []byte) ([]string, error) {
	var images []string
	for _, text := range Documents(string(content)) {
		var document any
		if err := fleet.UnmarshalYAML([]byte(text), &document); err != nil {
			return nil, plain(err)
		}
		images = AppendImages(images, document)
	}
	slices.Sort(images)
	return slices.Compact(images), nil
}
