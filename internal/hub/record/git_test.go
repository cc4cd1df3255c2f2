package record_test

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/hub/record"
)

// repositories reads real repositories, as the program does, and counts what it is asked.
type repositories struct {
	client                      *git.Client
	heads, lists, reads, walked atomic.Int64
}

func (g *repositories) Head(ctx context.Context, repository, branch string) (record.Commit, error) {
	g.heads.Add(1)
	repo, err := g.client.Open(ctx, repository)
	if err != nil {
		return record.Commit{}, err
	}
	c, err := repo.Resolve(ctx, branch, "")
	if errors.Is(err, git.ErrBranchNotFound) {
		return record.Commit{}, record.ErrNoBranch
	}
	return g.commit(repo, c), err
}

func (g *repositories) commit(repo *git.Repository, c git.Commit) record.Commit {
	return record.Commit{SHA: c.Hash, Branch: c.Branch, Time: c.Time, Tree: tree{g, repo.Tree(c)}}
}

func (g *repositories) History(ctx context.Context, repository string, from record.Commit, until func(string) bool, limit int) ([]record.Commit, bool, error) {
	repo, err := g.client.Open(ctx, repository)
	if err != nil {
		return nil, false, err
	}
	history, more, err := repo.History(ctx, git.Commit{Hash: from.SHA, Branch: from.Branch}, until, limit)
	var commits []record.Commit
	for _, c := range history {
		commits = append(commits, g.commit(repo, c))
	}
	g.walked.Add(int64(len(commits)))
	return commits, more, err
}

func (g *repositories) Contains(ctx context.Context, repository, ancestor string, of record.Commit) (bool, error) {
	repo, err := g.client.Open(ctx, repository)
	if err != nil {
		return false, err
	}
	return repo.IsAncestor(ctx, ancestor, git.Commit{Hash: of.SHA})
}

type tree struct {
	count *repositories
	tree  *git.Tree
}

func (t tree) List(ctx context.Context, folder record.Entry) ([]record.Entry, error) {
	t.count.lists.Add(1)
	var at git.Entry
	if folder != (record.Entry{}) {
		at = git.Entry{Path: folder.Path, Hash: folder.Hash, Mode: git.Subfolder}
	}
	listed, err := t.tree.List(ctx, at)
	var entries []record.Entry
	for _, e := range listed {
		entries = append(entries, record.Entry{Path: e.Path, Hash: e.Hash, Folder: e.Mode == git.Subfolder})
	}
	return entries, err
}

func (t tree) Read(ctx context.Context, file record.Entry, limit int64) ([]byte, error) {
	t.count.reads.Add(1)
	content, err := t.tree.Read(ctx, git.Entry{Path: file.Path, Hash: file.Hash}, limit)
	if errors.Is(err, git.ErrTooLarge) {
		return nil, record.ErrTooLarge
	}
	return content, err
}
