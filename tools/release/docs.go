package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/kalypso-io/kalypso/tools/release/site"
)

// writeDocs packs the documentation site, with links to the commit of the release.
func (r *release) writeDocs() error {
	folder := fmt.Sprintf("%s-docs_%s", path.Base(r.Source), r.version)
	files, err := site.Build(os.DirFS(r.root), site.Options{Name: r.Title, Source: r.Source, Ref: r.commit, Version: r.version})
	if err != nil {
		return fmt.Errorf("make the documentation site: %w", err)
	}
	entries := make([]entry, len(files))
	for i, f := range files {
		entries[i] = entry{name: folder + "/" + f.Name, mode: 0o644, content: f.Content}
	}
	return create(filepath.Join(r.out, folder+".tar.gz"), func(w io.Writer) error { return writeTarGz(w, entries, r.time) })
}

// writeSite writes the documentation of a work tree, which can have changes, to a folder that is empty or does not exist.
func writeSite(ctx context.Context, p Project, root, out string, log io.Writer) error {
	r := &release{Project: p, root: root}
	commit, err := r.git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	old, err := os.ReadDir(out)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if len(old) > 0 {
		return fmt.Errorf("%s is not empty: remove it, or name another folder", out)
	}
	files, err := site.Build(os.DirFS(root), site.Options{Name: p.Title, Source: p.Source, Ref: commit, Version: commit[:12]})
	if err != nil {
		return err
	}
	for _, f := range files {
		name := filepath.Join(out, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, f.Content, 0o644); err != nil { //nolint:gosec // documentation is public
			return err
		}
	}
	fmt.Fprintf(log, "%d files in %s: open %s\n", len(files), out, filepath.Join(out, "index.html"))
	return nil
}
