package tour

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/git"
)

// maxFile limits an edited file, in bytes.
const maxFile = 16 << 10

// errUnchanged means that an edit changes nothing.
var errUnchanged = errors.New("the file is as before: change something first")

// content returns the file of a change on a branch; empty if it does not exist.
func (t *Tour) content(ctx context.Context, c *change, branch string) (string, error) {
	repo, err := t.repository(ctx, c.repository)
	if err != nil {
		return "", err
	}
	head, err := repo.Resolve(ctx, branch, "")
	if err != nil {
		return "", err
	}
	return fileAt(ctx, repo, head, c.file)
}

func fileAt(ctx context.Context, repo *git.Repository, at git.Commit, name string) (string, error) {
	tree := repo.Tree(at)
	files, err := tree.Files(ctx, name)
	if errors.Is(err, git.ErrPathNotFound) {
		return "", nil
	}
	if err != nil || len(files) != 1 {
		return "", err
	}
	content, err := tree.Read(ctx, files[0], maxFile)
	return string(content), err
}

// propose commits an edit on the branch of a step, as a user, and opens its pull request.
func (t *Tour) propose(ctx context.Context, s *step, account, content string) error {
	content = strings.TrimRight(strings.ReplaceAll(content, "\r\n", "\n"), "\n") + "\n"
	if len(content) > maxFile {
		return fmt.Errorf("the file is larger than %d bytes", maxFile)
	}
	repo, err := t.repository(ctx, s.change.repository)
	if err != nil {
		return err
	}
	base, err := repo.Resolve(ctx, s.change.base, "")
	if err != nil {
		return err
	}
	was, err := fileAt(ctx, repo, base, s.change.file)
	if err != nil {
		return err
	}
	if was == content {
		return errUnchanged
	}
	old, err := repo.Resolve(ctx, s.branch(), "")
	if err != nil && !errors.Is(err, git.ErrBranchNotFound) {
		return err
	}
	commit, err := repo.Commit(ctx, git.CommitRequest{
		Parent: base, Put: map[string][]byte{s.change.file: []byte(content)}, Message: s.change.title + "\n",
		Author: git.Person{Name: account, Email: "tour@localhost"}, When: time.Now(),
	})
	if err != nil {
		return err
	}
	if err := repo.Push(ctx, s.branch(), old.Hash, commit); err != nil {
		return err
	}
	if err := t.Host.Sync(ctx); err != nil {
		return err
	}
	on, err := t.As(account).Repository(t.Site.Repository(s.change.repository))
	if err != nil {
		return err
	}
	_, err = on.OpenPullRequest(ctx, forge.NewPullRequest{Head: s.branch(), Base: s.change.base, Title: s.change.title, Body: "From the guided tour."})
	if errors.Is(err, forge.ErrConflict) {
		return nil // it is open, and has the new commit
	}
	return err
}

// merge merges an open pull request as a user, if its head is still what the user saw.
func (t *Tour) merge(ctx context.Context, account, repository string, number int, head string) error {
	on, err := t.As(account).Repository(t.Site.Repository(repository))
	if err != nil {
		return err
	}
	_, err = on.MergePullRequest(ctx, number, forge.Merge{Head: head})
	return err
}
