package scan

import (
	"regexp"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/check"
)

// Artifact is an image or a chart that targets are made of.
type Artifact struct {
	What check.Subject // required
	// Reference is how manifests name an image, "registry.example/shop:1.4.0"; a chart is its name and version, "shop:0.1.0".
	Reference string // required
	// Digest identifies the content of a chart. That of an image is part of its reference, or has to be looked up.
	Digest string
	// Targets are those that it is for, sorted.
	Targets []string
	// Files are those of a chart.
	Files []chart.File
}

// Chart is the artifact that a chart is. Its name and version may be anybody's: where they are none, its digest stands for them.
func Chart(name, version, digest string, files []chart.File) Artifact {
	a := Artifact{What: check.Charts, Reference: name + ":" + version, Digest: digest, Files: files}
	if !chartReference.MatchString(a.Reference) {
		a.Reference = digest
	}
	return a
}

// chartReference is the form of a chart's name and version. It begins with a letter or digit, so that no reference is an option.
var chartReference = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,252}:[a-zA-Z0-9][a-zA-Z0-9.+_-]{0,252}$`)
