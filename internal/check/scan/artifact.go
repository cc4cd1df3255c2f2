package scan

import (
	"regexp"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/check"
)

// Artifact is an image or chart that targets use.
type Artifact struct {
	What check.Subject // required
	// Reference is the image's reference in manifests, "registry.example/shop:1.4.0", or the chart's name and
	// version, "shop:0.1.0".
	Reference string // required
	// Digest identifies the content of a chart. An image's digest is part of its reference, or has to be looked up.
	Digest string
	// Targets are the targets that use it, sorted.
	Targets []string
	// Files are the files of a chart; empty for an image.
	Files []chart.File
}

// Chart returns the artifact for a chart. Name and version are not
// trusted: if they are invalid, the digest replaces them.
func Chart(name, version, digest string, files []chart.File) Artifact {
	a := Artifact{What: check.Charts, Reference: name + ":" + version, Digest: digest, Files: files}
	if !chartReference.MatchString(a.Reference) {
		a.Reference = digest
	}
	return a
}

// chartReference matches a valid name and version. They start with a letter or digit, so that a program never takes a
// reference for an option.
var chartReference = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,252}:[a-zA-Z0-9][a-zA-Z0-9.+_-]{0,252}$`)
