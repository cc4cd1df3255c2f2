package main

import (
	"context"
	"errors"
	"io/fs"
	"os"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/bundle"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chartrepo"
	"github.com/kalypso-io/kalypso/internal/delivery"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/sandbox"
	"github.com/kalypso-io/kalypso/internal/scheduling"
)

// deliveryRepositories lets the delivery flow read through the Git client.
type deliveryRepositories struct{ *repositories }

var (
	_ delivery.Repositories = deliveryRepositories{}
	_ delivery.Renderer     = (*sandbox.Runner)(nil)
)

// Files lists all files at or below a location.
func (r deliveryRepositories) Files(ctx context.Context, at scheduling.Location) (*delivery.Files, error) {
	if _, err := os.Stat(at.Folder); at.Folder != "" && errors.Is(err, fs.ErrNotExist) {
		return nil, scheduling.ErrNoBranch
	}
	found, err := r.resolve(ctx, at)
	switch {
	case errors.Is(err, git.ErrEmpty):
		return nil, noBranch(err, git.ErrEmpty)
	case errors.Is(err, git.ErrRepositoryNotFound):
		return nil, noRepositoryError{err}
	case err != nil:
		return nil, err
	}
	entries, err := found.tree.Files(ctx, at.Path)
	if err != nil && !errors.Is(err, git.ErrPathNotFound) {
		return nil, err
	}
	files := &delivery.Files{Branch: found.commit.Branch, Commit: found.commit.Hash, Time: found.commit.Time}
	byPath := make(map[string]git.Entry, len(entries))
	for _, e := range entries {
		if e.Mode == git.Submodule {
			continue
		}
		hash, err := bundle.ParseHash(e.Hash)
		if err != nil {
			return nil, err
		}
		files.Entries = append(files.Entries, delivery.Entry{Path: e.Path, Hash: hash, Size: e.Size, Symlink: e.Mode == git.Symlink})
		byPath[e.Path] = e
	}
	files.Read = func(path string) ([]byte, error) {
		e, ok := byPath[path]
		if !ok {
			return nil, &git.Error{Kind: git.ErrPathNotFound, Op: "read " + path, Where: at.Repo}
		}
		return found.tree.Read(ctx, e, maxPublishedFile)
	}
	return files, nil
}

// Contains reports whether a commit lies in the history of a branch. One that was lost does not.
func (r deliveryRepositories) Contains(ctx context.Context, branch scheduling.Location, commit string) (bool, error) {
	on, err := r.repositories.Contains(ctx, branch, commit)
	if errors.Is(err, git.ErrCommitNotFound) {
		return false, nil
	}
	return on, err
}

// noRepositoryError is a [delivery.ErrNoRepository] that says itself what is missing.
type noRepositoryError struct{ error }

func (e noRepositoryError) Is(target error) bool { return target == delivery.ErrNoRepository }
func (e noRepositoryError) Unwrap() error        { return e.error }

// deliveryCharts lets the delivery flow fetch charts.
type deliveryCharts struct{ client *chartrepo.Client }

var _ delivery.Charts = deliveryCharts{}

// Local completes the chart in a folder of a repository.
func (c deliveryCharts) Local(ctx context.Context, files []chart.File, folder string) (*delivery.Chart, error) {
	return fetched(c.client.Local(ctx, files, folder))
}

// Fetch fetches a chart of a repository of charts.
func (c deliveryCharts) Fetch(ctx context.Context, ref app.Chart) (*delivery.Chart, error) {
	return fetched(c.client.Fetch(ctx, ref))
}

// Versions returns the versions of a chart, the newest first.
func (c deliveryCharts) Versions(ctx context.Context, ref app.Chart) ([]string, error) {
	return c.client.Versions(ctx, ref)
}

func fetched(f *chartrepo.Fetched, err error) (*delivery.Chart, error) {
	if err != nil {
		return nil, err
	}
	return &delivery.Chart{Files: f.Files, Name: f.Name, Version: f.Version, Digest: f.Digest, Notices: f.Notices}, nil
}
