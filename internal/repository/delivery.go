package repository

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// DeliveryReader reads repositories for the delivery flow.
type DeliveryReader struct{ *Reader }

var (
	_ deliver.Repositories = DeliveryReader{}
	_ deliver.Messages     = DeliveryReader{}
	_ deliver.Histories    = DeliveryReader{}
)

// NewDeliveryReader returns a reader that resolves each branch once, like [NewReader].
func NewDeliveryReader(client *git.Client) DeliveryReader {
	return DeliveryReader{NewReader(client)}
}

// Files lists all files at or below a location.
func (r DeliveryReader) Files(ctx context.Context, at schedule.Location) (*deliver.Files, error) {
	if _, err := os.Stat(at.Folder); at.Folder != "" && errors.Is(err, fs.ErrNotExist) {
		return nil, schedule.ErrNoBranch
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
	files := &deliver.Files{Branch: found.commit.Branch, Commit: found.commit.Hash, Time: found.commit.Time}
	byPath := make(map[string]git.Entry, len(entries))
	for _, e := range entries {
		if e.Mode == git.Submodule {
			continue
		}
		hash, err := bundle.ParseHash(e.Hash)
		if err != nil {
			return nil, err
		}
		files.Entries = append(files.Entries, deliver.Entry{Path: e.Path, Hash: hash, Size: e.Size, Symlink: e.Mode == git.Symlink})
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

// maxMessages is how many commits of a merge are read for their messages.
const maxMessages = 100

// hashesOf returns the set of the hashes of commits.
func hashesOf(line []git.Commit) map[string]bool {
	on := make(map[string]bool, len(line))
	for _, c := range line {
		on[c.Hash] = true
	}
	return on
}

// messagesOf returns the message of a commit and of those that it merged to a line of commits.
func messagesOf(ctx context.Context, repo *git.Repository, commit git.Commit, on map[string]bool) ([]string, error) {
	merged, err := repo.Merged(ctx, commit, func(hash string) bool { return on[hash] }, maxMessages)
	if err != nil {
		return nil, err
	}
	messages := []string{commit.Message}
	for _, c := range merged {
		messages = append(messages, c.Message)
	}
	return messages, nil
}

// History returns the commits that a branch pointed to, newest first.
func (r DeliveryReader) History(ctx context.Context, at schedule.Location, limit int) ([]deliver.PastCommit, bool, error) {
	repo, err := r.client.Open(ctx, at.Repo)
	if err != nil {
		return nil, false, err
	}
	if repo.IsFolder() {
		return nil, false, fmt.Errorf("%q is a plain folder, which has no history", repo.Name)
	}
	from, err := ResolveIn(ctx, repo, at.Branch, at.Commit)
	if errors.Is(err, git.ErrEmpty) {
		return nil, false, noBranch(err, git.ErrEmpty)
	}
	if err != nil {
		return nil, false, noBranch(err, git.ErrBranchNotFound)
	}
	line, more, err := repo.History(ctx, from, nil, limit)
	if err != nil {
		return nil, false, err
	}
	on := hashesOf(line)
	commits := make([]deliver.PastCommit, len(line))
	for i, c := range line {
		commits[i] = deliver.PastCommit{SHA: c.Hash, Author: c.Author, Title: c.Subject, Time: c.Time, Content: pastContent{repo, c, on}}
	}
	return commits, more, nil
}

// Past returns the commits that a branch pointed to, newest first.
func (r *Reader) Past(ctx context.Context, at schedule.Location, limit int) ([]schedule.PastCommit, bool, error) {
	line, more, err := DeliveryReader{r}.History(ctx, at, limit)
	commits := make([]schedule.PastCommit, len(line))
	for i, c := range line {
		commits[i] = schedule.PastCommit{SHA: c.SHA, Author: c.Author, Title: c.Title, Time: c.Time, Hash: c.Content.Hash, Messages: c.Content.Messages}
	}
	return commits, more, err
}

// pastContent is the content of a commit of a line.
type pastContent struct {
	repo   *git.Repository
	commit git.Commit
	on     map[string]bool
}

var _ deliver.PastContent = pastContent{}

// Hash identifies the content of a file or folder.
func (p pastContent) Hash(ctx context.Context, path string) (string, error) {
	e, err := p.repo.Tree(p.commit).Find(ctx, path)
	if errors.Is(err, git.ErrPathNotFound) {
		return "", nil
	}
	return e.Hash, err
}

// Read returns the content of a file.
func (p pastContent) Read(ctx context.Context, path string) ([]byte, error) {
	tree := p.repo.Tree(p.commit)
	e, err := tree.Find(ctx, path)
	if errors.Is(err, git.ErrPathNotFound) || err == nil && e.Mode != git.Regular && e.Mode != git.Executable {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return tree.Read(ctx, e, maxPublishedFile)
}

// Messages returns the message of the commit and of those that it merged, newest first.
func (p pastContent) Messages(ctx context.Context) ([]string, error) {
	return messagesOf(ctx, p.repo, p.commit, p.on)
}

// Contains reports whether a commit is in the history of a branch. A commit that no longer exists is not.
func (r DeliveryReader) Contains(ctx context.Context, branch schedule.Location, commit string) (bool, error) {
	on, err := r.Reader.Contains(ctx, branch, commit)
	if errors.Is(err, git.ErrCommitNotFound) {
		return false, nil
	}
	return on, err
}

// noRepositoryError is a [deliver.ErrNoRepository] with its own message.
type noRepositoryError struct{ error }

func (e noRepositoryError) Is(target error) bool { return target == deliver.ErrNoRepository }
func (e noRepositoryError) Unwrap() error        { return e.error }
