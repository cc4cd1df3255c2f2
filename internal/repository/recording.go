package repository

import (
	"context"
	"errors"
	"fmt"

	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/hub/record"
)

// GitOpsBranches reads branches for the recording flow.
type GitOpsBranches struct{ Client *git.Client }

var (
	_ record.Repositories = GitOpsBranches{}
	_ record.Tree         = tree{}
)

// Head returns a branch's current commit. A repository without commits has no branch.
func (g GitOpsBranches) Head(ctx context.Context, repository, branch string) (record.Commit, error) {
	repo, err := g.open(ctx, repository)
	if err != nil {
		return record.Commit{}, err
	}
	c, err := repo.Resolve(ctx, branch, "")
	if errors.Is(err, git.ErrBranchNotFound) || errors.Is(err, git.ErrEmpty) {
		return record.Commit{}, fmt.Errorf("%w: %w", record.ErrNoBranch, err)
	}
	return recordedCommit(repo, c), err
}

// open opens a repository. A plain folder is an error: it has no history to record.
func (g GitOpsBranches) open(ctx context.Context, repository string) (*git.Repository, error) {
	repo, err := g.Client.Open(ctx, repository)
	if err == nil && repo.IsFolder() {
		return nil, fmt.Errorf("%q is a plain folder, without commits that could be recorded; name a repository", repo.Name)
	}
	return repo, err
}

func recordedCommit(repo *git.Repository, c git.Commit) record.Commit {
	return record.Commit{SHA: c.Hash, Branch: c.Branch, Time: c.Time, Tree: tree{repo.Tree(c)}}
}

// History returns a commit and its ancestors along first parents.
func (g GitOpsBranches) History(ctx context.Context, repository string, from record.Commit, until func(string) bool, limit int) ([]record.Commit, bool, error) {
	repo, err := g.open(ctx, repository)
	if err != nil {
		return nil, false, err
	}
	history, more, err := repo.History(ctx, git.Commit{Hash: from.SHA, Branch: from.Branch}, until, limit)
	commits := make([]record.Commit, len(history))
	for i, c := range history {
		commits[i] = recordedCommit(repo, c)
	}
	return commits, more, err
}

// Contains reports whether a commit is in the history of another one.
func (g GitOpsBranches) Contains(ctx context.Context, repository, ancestor string, of record.Commit) (bool, error) {
	repo, err := g.open(ctx, repository)
	if err != nil {
		return false, err
	}
	return repo.IsAncestor(ctx, ancestor, git.Commit{Hash: of.SHA})
}

// tree provides the files of a commit.
type tree struct{ tree *git.Tree }

// List returns the entries of a folder.
func (t tree) List(ctx context.Context, folder record.Entry) ([]record.Entry, error) {
	var at git.Entry
	if folder != (record.Entry{}) {
		at = git.Entry{Path: folder.Path, Hash: folder.Hash, Mode: git.Subfolder}
	}
	listed, err := t.tree.List(ctx, at)
	entries := make([]record.Entry, 0, len(listed))
	for _, e := range listed {
		if e.Mode != git.Symlink && e.Mode != git.Submodule {
			entries = append(entries, record.Entry{Path: e.Path, Hash: e.Hash, Folder: e.Mode == git.Subfolder})
		}
	}
	return entries, err
}

// Read returns the content of a file.
func (t tree) Read(ctx context.Context, file record.Entry, limit int64) ([]byte, error) {
	content, err := t.tree.Read(ctx, git.Entry{Path: file.Path, Hash: file.Hash}, limit)
	if errors.Is(err, git.ErrTooLarge) {
		return nil, fmt.Errorf("%w: %w", record.ErrTooLarge, err)
	}
	return content, err
}
