package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// maxCompared is how many files are compared with a work tree, and maxComparedSize how large they can be, in bytes.
const (
	maxCompared     = 5000
	maxComparedSize = 1 << 20
)

// noteUncommitted says on the side that a commit is rendered, and not what the work tree has.
func (s *appSession) noteUncommitted(ctx context.Context, t *terminal.Terminal, a *deliver.Application, named bool) {
	if s.workTree == "" || named {
		return
	}
	head, err := os.ReadFile(filepath.Join(s.workTree, ".git", "HEAD"))
	if err != nil || strings.TrimSpace(string(head)) != "ref: refs/heads/"+a.Source.Branch {
		return // another branch is checked out
	}
	files, err := s.drafter.Loader.Repositories.Files(ctx, schedule.Location{Repo: a.Request.Source, Branch: a.Request.Branch, Commit: a.Source.Commit})
	if err != nil {
		return // it was read before
	}
	root, err := os.OpenRoot(s.workTree)
	if err != nil {
		return // a bare repository
	}
	defer root.Close() //nolint:errcheck // files were only read
	for _, e := range files.Entries[:min(len(files.Entries), maxCompared)] {
		if e.Symlink || e.Size > maxComparedSize || sameContent(root, e) {
			continue
		}
		s.progress.End()
		fmt.Fprintf(t.Err, "%s  commit %s is rendered, not the changes in the work tree, such as of %s\n    %s\n",
			t.ErrStyle.Yellow("notice"), fleet.ShortCommit(a.Source.Commit), terminal.Printable(e.Path), t.ErrStyle.Dim("commit them, or name a copy of the folder without .git as --source"))
		return
	}
}

// sameContent reports whether a work tree has a file as it was committed.
func sameContent(root *os.Root, e deliver.Entry) bool {
	file, err := root.Open(filepath.FromSlash(e.Path))
	if err != nil {
		return false
	}
	defer file.Close() //nolint:errcheck // it was only read
	content, err := io.ReadAll(io.LimitReader(file, maxComparedSize+1))
	return err == nil && bundle.HashOf(content) == e.Hash
}
