package remote

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
)

// maxDepth is the maximum depth of dependencies that have to be fetched.
const maxDepth = 8

// Local returns a chart in a folder of a repository, with its dependencies. The files are those of the repository; the folder
// contains Chart.yaml. Dependencies can be folders of the same repository ("file://../common").
func (c *Client) Local(ctx context.Context, files []chart.File, folder string) (*Fetched, error) {
	return c.local(ctx, repository{files, folder}, 0)
}

// repository is the root for the paths of a chart in a folder.
type repository struct {
	files  []chart.File
	folder string
}

func (c *Client) local(ctx context.Context, r repository, depth int) (*Fetched, error) {
	own := r.below()
	described, err := chart.Describe(own)
	if err != nil {
		return nil, fmt.Errorf("read chart in %q: %w", r.folder, err)
	}
	f := &Fetched{Files: own, Name: described.Name, Version: described.Version}
	if err := c.complete(ctx, f, &r, depth); err != nil {
		return nil, err
	}
	f.Digest = chart.Digest(f.Files)
	return f, nil
}

// below returns the files of the folder, with paths relative to it.
func (r repository) below() []chart.File {
	var files []chart.File
	for _, f := range r.files {
		if r.folder == "" {
			files = append(files, f)
		} else if rest, ok := strings.CutPrefix(f.Path, r.folder+"/"); ok {
			files = append(files, chart.File{Path: rest, Content: f.Content, Symlink: f.Symlink})
		}
	}
	return files
}

// complete adds a chart's missing dependencies to its folder charts.
// home is the location of a chart in a folder. Nil for one that was fetched.
func (c *Client) complete(ctx context.Context, f *Fetched, home *repository, depth int) error {
	described, err := chart.Describe(f.Files)
	if err != nil {
		return fmt.Errorf("read chart %q: %w", f.Name, err)
	}
	missing := described.Missing
	if len(missing) > 0 && depth >= maxDepth {
		return fmt.Errorf("charts depend on each other more than %d levels deep, at %q", maxDepth, f.Name)
	}
	for _, d := range missing {
		dependency, err := c.dependency(ctx, d, home, depth+1)
		if err != nil {
			return fmt.Errorf("chart %q depends on %q: %w", f.Name, d.Name, err)
		}
		f.add(d, dependency)
	}
	if len(missing) == 0 {
		return nil
	}
	if described, err = chart.Describe(f.Files); err != nil {
		return fmt.Errorf("read chart %q: %w", f.Name, err)
	}
	if still := described.Missing; len(still) > 0 {
		return fmt.Errorf("chart %q depends on %q, and its version %s does not match Chart.yaml; update Chart.lock", f.Name, still[0].Name, still[0].Version)
	}
	return nil
}

// dependency fetches one dependency of a chart.
func (c *Client) dependency(ctx context.Context, d chart.Dependency, home *repository, depth int) (*Fetched, error) {
	if !plainName(d.Name) {
		return nil, fmt.Errorf("%q is not the name of a chart", d.Name)
	}
	switch folder, isFile := strings.CutPrefix(d.Repository, "file://"); {
	case d.Repository == "":
		return nil, errors.New("it names no repository, and is not in the folder charts")
	case isFile && home == nil:
		return nil, fmt.Errorf("its repository is %q, which only its author has", d.Repository)
	case isFile:
		folder = path.Join(home.folder, folder)
		if strings.HasPrefix(folder, "..") || path.IsAbs(folder) {
			return nil, fmt.Errorf("%q is outside of the repository", d.Repository)
		}
		return c.local(ctx, repository{home.files, strings.TrimPrefix(folder, ".")}, depth)
	case strings.HasPrefix(d.Repository, "@") || strings.HasPrefix(d.Repository, "alias:"):
		return nil, fmt.Errorf("%q is a name that only its author's machine knows; write the URL", d.Repository)
	}
	return c.fetch(ctx, app.Chart{Repository: d.Repository, Name: d.Name, Version: d.Version}, depth)
}

func (f *Fetched) add(d chart.Dependency, dependency *Fetched) {
	folder := path.Join("charts", dependency.Name+"-"+strings.ReplaceAll(dependency.Version, "/", "-"))
	for _, file := range dependency.Files {
		file.Path = path.Join(folder, file.Path)
		f.Files = append(f.Files, file)
	}
	f.Dependencies = append(f.Dependencies, Resolved{Repository: d.Repository, Name: dependency.Name, Version: dependency.Version, Digest: dependency.Digest})
	f.Dependencies = append(f.Dependencies, dependency.Dependencies...)
	f.Notices = append(f.Notices, dependency.Notices...)
}
