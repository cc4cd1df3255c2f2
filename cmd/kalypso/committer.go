package main

import (
	"context"
	"errors"

	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/scheduling"
)

// committer lets the scheduling flow write through the Git client.
type committer struct {
	client *git.Client
	author git.Person
	// signer signs commits; nil leaves them unsigned.
	signer git.Signer
	// pushed is told which repository a branch was moved in; may be nil.
	pushed func(ctx context.Context, repo string) error
}

var _ scheduling.Committer = committer{}

// Commit writes a commit that no branch leads to yet.
func (c committer) Commit(ctx context.Context, commit scheduling.Commit) (string, error) {
	repo, err := c.client.Open(ctx, commit.Repo)
	if err != nil {
		return "", err
	}
	request := git.CommitRequest{
		Put: commit.Put, Delete: commit.Delete, Message: commit.Message, When: commit.When, Author: c.author, Signer: c.signer,
	}
	if commit.Parent != "" {
		if request.Parent, err = repo.Resolve(ctx, commit.Branch, commit.Parent); err != nil {
			return "", err
		}
	}
	written, err := repo.Commit(ctx, request)
	return written.Hash, err
}

// Head returns the commit of a branch; empty when there is no such branch.
func (c committer) Head(ctx context.Context, repo, branch string) (string, error) {
	r, err := c.client.Open(ctx, repo)
	if err != nil {
		return "", err
	}
	head, err := r.Resolve(ctx, branch, "")
	if errors.Is(err, git.ErrBranchNotFound) || errors.Is(err, git.ErrEmpty) {
		return "", nil
	}
	return head.Hash, err
}

// Push moves a branch if it is where it is believed to be.
func (c committer) Push(ctx context.Context, repo, branch, old, commit string) error {
	r, err := c.client.Open(ctx, repo)
	if err != nil {
		return err
	}
	err = r.Push(ctx, branch, old, git.Commit{Hash: commit})
	if errors.Is(err, git.ErrMoved) {
		return errors.Join(scheduling.ErrMoved, err)
	}
	if err != nil || c.pushed == nil {
		return err
	}
	return c.pushed(ctx, repo)
}
