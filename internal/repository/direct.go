package repository

import (
	"context"
	"errors"
	"path"
	"strings"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/hub/artifact"
	"github.com/kalypso-io/kalypso/internal/hub/desired"
)

// Direct reads what clusters without a reconciler should run.
type Direct struct{ Client *git.Client }

var _ desired.Repositories = Direct{}

// Resolve returns the commit of a source. Documents of remote repositories cannot name repositories on this machine.
func (r Direct) Resolve(ctx context.Context, from string, source hub.DirectSource) (desired.Commit, error) {
	address := source.Repository
	if from != "" {
		var err error
		if address, err = NewReader(r.Client).Resolve(from, address); err != nil {
			return desired.Commit{}, err
		}
	}
	repo, err := GitOpsBranches(r).open(ctx, address)
	if err != nil {
		return desired.Commit{}, err
	}
	revision := source.Commit
	if source.Tag != "" {
		revision = git.TagReference(source.Tag)
	}
	commit, err := repo.Resolve(ctx, source.Branch, revision)
	if err != nil {
		return desired.Commit{}, err
	}
	tree := repo.Tree(commit)
	return desired.Commit{Hash: commit.Hash, Files: func(ctx context.Context, folder string) ([]artifact.File, error) {
		return manifestsOf(ctx, tree, folder)
	}}, nil
}

// manifestsOf returns the YAML files below a folder.
func manifestsOf(ctx context.Context, tree *git.Tree, folder string) ([]artifact.File, error) {
	entries, err := tree.Files(ctx, folder)
	if errors.Is(err, git.ErrPathNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var files []artifact.File
	left := int64(artifact.MaxContent) + 1 // one more than may be packed
	for _, e := range entries {
		name, below := e.Path, true
		if folder != "" {
			name, below = strings.CutPrefix(e.Path, folder+"/")
		}
		ext := path.Ext(name)
		hidden := strings.HasPrefix(name, ".") || strings.Contains(name, "/.")
		isManifest := ext == ".yaml" || ext == ".yml" || path.Base(name) == "Kustomization"
		if !below || hidden || !isManifest || e.Mode != git.Regular && e.Mode != git.Executable {
			continue
		}
		content, err := tree.Read(ctx, e, left)
		if err != nil {
			return nil, err
		}
		files = append(files, artifact.File{Path: name, Content: content})
		if left -= int64(len(content)); left <= 0 || len(files) > artifact.MaxFiles {
			break // packing them says that it is too much
		}
	}
	return files, nil
}
