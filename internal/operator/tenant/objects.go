package tenant

import (
	"context"
	"errors"
	"fmt"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/operator"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// The folders that stand for objects of a namespace, instead of the base branch and the environment's branch. Nothing opens them.
const (
	mainObjects   = "the namespace's objects of " + schedule.DefaultBase
	branchObjects = "the namespace's objects of the environment"
)

// objects reads the control plane from documents, and everything else from repositories.
type objects struct {
	*repository.Reader
	documents *operator.Documents
}

var _ schedule.Repositories = (*objects)(nil)

// Source returns the objects of a branch, or the files of a repository.
func (o *objects) Source(ctx context.Context, at schedule.Location) (fleet.Source, error) {
	switch at.Folder {
	case mainObjects:
		return o.documents.Main, nil
	case branchObjects:
		return o.documents.Branch, nil
	}
	return o.Reader.Source(ctx, at)
}

// Environments returns the objects of the base branch.
func (o *objects) Environments(ctx context.Context, at schedule.Location) (fleet.Source, error) {
	if at.Folder == mainObjects {
		return o.documents.Main, nil
	}
	return o.Reader.Environments(ctx, at)
}

// Files returns an error for objects: a chart has files that no object holds.
func (o *objects) Files(ctx context.Context, at schedule.Location) ([]fleet.File, error) {
	if at.Folder != "" {
		return nil, errors.New("a template with a chart needs a control plane in a repository")
	}
	return o.Reader.Files(ctx, at)
}

// Resolve resolves a URL in an object. Objects that come from no repository cannot have relative URLs.
func (o *objects) Resolve(from, url string) (string, error) {
	if from != "" {
		return o.Reader.Resolve(from, url)
	}
	if url == "" || fleet.IsRelative(url) {
		return "", fmt.Errorf("the URL %q is relative: set spec.source.objects.repository of the ControlPlane to the repository that the objects come from", url)
	}
	return url, nil
}
