package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// writeCommit commits a bundle on top of the GitOps branch, and moves a branch of its own there.
// The commit is dated by its inputs: the same inputs make the same commit, and a second run finds nothing to do.
func (c *scheduleCommand) writeCommit(ctx context.Context, s *session, d *schedule.Draft, result *scheduled) error {
	loaded, g := d.Loaded, d.GitOps
	result.Branch = c.target(d)
	put, remove := schedule.Edits(d.Bundle.Changes())
	if len(put)+len(remove) == 0 {
		return nil
	}
	if result.Branch != g.Location.Branch {
		result.Base = g.Location.Branch
	}
	repo, err := s.client.Open(ctx, g.Location.Repo)
	if err != nil {
		return err
	}
	if repo.IsFolder() {
		return cli.Failed(errors.New("the GitOps repository is a plain folder, which has no commits"), "write to it with --out FOLDER")
	}
	request := git.CommitRequest{
		Put: put, Delete: remove,
		Message: schedule.CommitMessage(loaded, result.Plan),
		When:    loaded.Inputs.Time(),
	}
	if g.Exists {
		if request.Parent, err = repo.Resolve(ctx, g.Location.Branch, g.Commit); err != nil {
			return err
		}
	}
	request.When = newest(request.When, request.Parent.Time)
	if request.When.IsZero() {
		request.When = c.t.Now()
	}
	request.Author = repository.Author(c.t.Env)
	if request.Signer, err = repository.Signer(c.signingKey, c.t.Env); err != nil {
		return err
	}
	s.progress.Say("committing to %s", result.Branch)
	return c.push(ctx, repo, request, result)
}

func newest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// push makes the commit and moves the branch, unless it is there already.
func (c *scheduleCommand) push(ctx context.Context, repo *git.Repository, request git.CommitRequest, result *scheduled) error {
	head, err := repo.Resolve(ctx, result.Branch, "")
	if err != nil && !errors.Is(err, git.ErrBranchNotFound) && !errors.Is(err, git.ErrEmpty) {
		return err
	}
	commit, err := repo.Commit(ctx, request)
	if err != nil {
		return err
	}
	// A signature need not be the same twice; what it is over is.
	same := commit.Unsigned == head.Unsigned && head.Hash != ""
	if same && (request.Signer == nil || head.Hash != head.Unsigned) {
		result.Existing = head.Hash
		return nil
	}
	if result.Base == "" && head.Hash != request.Parent.Hash {
		// The commit would replace what was published since the draft was made.
		return &git.Error{
			Kind: git.ErrMoved, Op: fmt.Sprintf("commit to branch %q of", result.Branch), Where: repo.Name, Detail: "it moved since it was read", Hint: "run the command again",
		}
	}
	if result.Base != "" && head.Hash != "" && !schedule.IsCommitMessage(head.Message) {
		if merged, err := repo.IsAncestor(ctx, head.Hash, request.Parent); err != nil || !merged {
			return cli.Failed(fmt.Errorf("branch %q ends with commit %s, which Kalypso did not make and %s does not have", result.Branch, terminal.Short(head.Hash), result.Base),
				"merge or delete the branch, or name another one with --branch")
		}
	}
	if err := repo.Push(ctx, result.Branch, head.Hash, commit); err != nil {
		return err
	}
	result.Commit, result.Written, result.Deleted = commit.Hash, len(request.Put), len(request.Delete)
	result.Pushed = !repo.IsLocal()
	return nil
}
