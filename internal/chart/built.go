package chart

import "cmp"

// Built is an image that CI built. At least one container must use it, or the target is not rendered:
// a build that is said to be delivered and does not run is worse than an error.
type Built struct {
	// Name is the name of the image in a kustomization or in plain manifests: its repository, or the last element of it.
	Name string `json:"name"`
	// Repository, Tag and Digest are the parts that CI named; at least one is set.
	Repository string `json:"repository,omitempty"`
	Tag        string `json:"tag,omitempty"`
	Digest     string `json:"digest,omitempty"`
	// RepositoryValue is the path of the value that has the repository of a chart's image; optional.
	RepositoryValue string `json:"repositoryValue,omitempty"`
}

// String returns the reference, as far as CI named it.
func (b Built) String() string {
	text := cmp.Or(b.Repository, b.Name)
	if b.Tag != "" {
		text += ":" + b.Tag
	}
	if b.Digest != "" {
		text += "@" + b.Digest
	}
	return text
}
