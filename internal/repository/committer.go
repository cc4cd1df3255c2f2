package repository

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
)

// Committer writes commits and branches for the scheduling flow.
type Committer struct {
	Client *git.Client
	Author git.Person
	// Committer commits for the author. Default: the author.
	Committer git.Person
	// Signer signs commits. Nil leaves them unsigned.
	Signer git.Signer
	// Permit is called right before a push, which its error prevents. Optional.
	Permit func(ctx context.Context) error
	// Pushed is called with the repository in which a branch was moved. Optional.
	Pushed func(ctx context.Context, repo string) error
}

var _ pullrequest.Committer = Committer{}

// Commit writes a commit that is not on a branch yet.
func (c Committer) Commit(ctx context.Context, commit pullrequest.Commit) (string, error) {
	repo, err := c.Client.Open(ctx, commit.Repo)
	if err != nil {
		return "", err
	}
	request := git.CommitRequest{
		Put: commit.Put, Delete: commit.Delete, Message: commit.Message, When: commit.When, Author: c.Author, Committer: c.Committer,
		Signer: c.Signer,
	}
	if commit.Parent != "" {
		if request.Parent, err = repo.Resolve(ctx, commit.Branch, commit.Parent); err != nil {
			return "", err
		}
	}
	written, err := repo.Commit(ctx, request)
	return written.Hash, err
}

// Head returns the commit of a branch. Empty if the branch does not exist.
func (c Committer) Head(ctx context.Context, repo, branch string) (string, error) {
	r, err := c.Client.Open(ctx, repo)
	if err != nil {
		return "", err
	}
	head, err := r.Resolve(ctx, branch, "")
	if errors.Is(err, git.ErrBranchNotFound) || errors.Is(err, git.ErrEmpty) {
		return "", nil
	}
	return head.Hash, err
}

// Heads returns the commits of all branches of a repository, by name.
func (c Committer) Heads(ctx context.Context, repo string) (map[string]string, error) {
	r, err := c.Client.Open(ctx, repo)
	if err != nil {
		return nil, err
	}
	references, err := r.References(ctx)
	if err != nil {
		return nil, err
	}
	heads := map[string]string{}
	for name, commit := range references {
		if branch, ok := strings.CutPrefix(name, git.BranchReference("")); ok {
			heads[branch] = commit
		}
	}
	return heads, nil
}

// Push moves a branch if it is where the caller expects it.
func (c Committer) Push(ctx context.Context, repo, branch, old, commit string) error {
	r, err := c.Client.Open(ctx, repo)
	if err != nil {
		return err
	}
	if c.Permit != nil {
		if err := c.Permit(ctx); err != nil {
			return err
		}
	}
	err = r.Push(ctx, branch, old, git.Commit{Hash: commit})
	if errors.Is(err, git.ErrMoved) {
		return errors.Join(pullrequest.ErrMoved, err)
	}
	if errors.Is(err, git.ErrHeld) {
		return fmt.Errorf("%w: %w", pullrequest.ErrBusy, err)
	}
	if err != nil || c.Pushed == nil {
		return err
	}
	return c.Pushed(ctx, repo)
}

// PromotionCommitter is a [Committer] for the promotion flow. It reports branches that accept pull requests only.
type PromotionCommitter struct{ Committer }

var _ pullrequest.Committer = PromotionCommitter{}

// Push moves a branch if it is where the caller expects it.
func (c PromotionCommitter) Push(ctx context.Context, repo, branch, old, commit string) error {
	err := c.Committer.Push(ctx, repo, branch, old, commit)
	if errors.Is(err, git.ErrDenied) {
		return errors.Join(promote.ErrProtected, err)
	}
	return err
}
