package harness

import (
	"context"
	"io/fs"
	"os"
)

// Files returns the files of a branch as they are now. dir is an empty folder to put them into.
func (r *Repository) Files(ctx context.Context, dir, branch string) (fs.FS, error) {
	return FilesOf(ctx, r.urlWith(r.gitea.Admin), dir, branch)
}

// FilesOf returns the files of a branch of any repository, such as one in a folder that Kalypso made.
// dir is an empty folder to put them into.
func FilesOf(ctx context.Context, repository, dir, branch string) (fs.FS, error) {
	c := &Checkout{dir, branch}
	if _, err := c.git(ctx, "clone", "-q", "--depth=1", "--branch="+branch, repository, "."); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(dir + "/.git"); err != nil {
		return nil, err
	}
	return os.DirFS(dir), nil
}
