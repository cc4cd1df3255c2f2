package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// recover registers repositories found in the folder, and updates all pull requests from the branches.
func (f *Forge) recover(ctx context.Context) error {
	folders, err := filepath.Glob(filepath.Join(f.repositories(), "*", "*.git"))
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if err := f.adopt(ctx, folder); err != nil {
			return err
		}
	}
	return f.Sync(ctx)
}

// adopt registers a bare repository that was copied into the folder, or created just before a crash.
// It is private, since public reading was not requested.
func (f *Forge) adopt(ctx context.Context, folder string) error {
	owner, name := filepath.Base(filepath.Dir(folder)), strings.TrimSuffix(filepath.Base(folder), ".git")
	if !validName(owner) || !validName(name) {
		f.log.Warn("folder skipped: its name has characters that URLs cannot have", "folder", folder)
		return nil
	}
	if _, err := os.Stat(filepath.Join(folder, "HEAD")); err != nil {
		f.log.Warn("folder is not a bare repository", "folder", folder)
		return nil
	}
	_, err := f.register(ctx, entry{owner: owner, name: name, private: true})
	if errors.Is(err, forge.ErrConflict) {
		return nil
	}
	return err
}

// Sync updates all pull requests from the branches. It is only needed after other programs moved branches.
// Damaged repositories are logged and skipped.
func (f *Forge) Sync(ctx context.Context) (err error) {
	defer explain("sync pull requests with branches", "", &err)
	all, err := queryAll(ctx, f.db, scanRepository, "selectRepositories")
	if err != nil {
		return err
	}
	for _, e := range all {
		if err := f.syncOne(ctx, e); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			f.log.Error("sync pull requests with branches", "repository", e.path(), "error", err)
		}
	}
	return nil
}

func (f *Forge) syncOne(ctx context.Context, e entry) error {
	unlock, err := f.locks.lock(ctx, e.id)
	if err != nil {
		return err
	}
	defer unlock()
	return f.sync(ctx, e, f.account.Name, nil)
}

// sync updates open pull requests from the branches: all, or those whose head or base is one of the given branches.
// The caller holds the repository's lock.
func (in *installation) sync(ctx context.Context, e entry, actor string, moved map[string]bool) error {
	open, err := queryAll(ctx, in.db, scanPullRequest, "selectOpenPullRequests", e.id)
	if err != nil {
		return err
	}
	objects := in.open(e)
	for _, c := range open {
		if moved != nil && !moved[c.Head.Branch] && !moved[c.Base.Branch] {
			continue
		}
		if err := in.follow(ctx, e, objects, c, actor); err != nil {
			return err
		}
	}
	return nil
}

// follow updates one open pull request from its branches.
func (in *installation) follow(ctx context.Context, e entry, objects bare, c pullRequest, actor string) error {
	head, err := objects.branch(c.Head.Branch)
	if err != nil {
		return err
	}
	base, err := objects.branch(c.Base.Branch)
	if err != nil {
		return err
	}
	headMoved := false
	if now := head.String(); !head.IsZero() && now != c.Head.Commit {
		if merged, err := in.settle(ctx, e, objects, c, base, actor); err != nil || merged {
			return err
		}
		if err := execute(ctx, in.db, "moveHead", now, e.id, c.Number); err != nil {
			return err
		}
		c.Head.Commit, c.auto, headMoved = now, nil, true
	}
	if err := in.keepHead(e, c.Number, c.Head.Commit); err != nil {
		return err
	}
	if !headMoved {
		_, err = in.settle(ctx, e, objects, c, base, actor)
		return err
	}
	// A head that was reset to a commit of the base was not merged: nothing is left of the pull request.
	empty, err := objects.contains(ctx, base, head)
	if err != nil {
		return err
	}
	if empty {
		return in.closed(ctx, e, c, actor)
	}
	return in.tellAbout(ctx, e, forge.EventPullRequest, c.Number, actor)
}

// settle marks a pull request as merged if its base branch contains it.
func (in *installation) settle(ctx context.Context, e entry, objects bare, c pullRequest, base plumbing.Hash, actor string) (bool, error) {
	if base.IsZero() {
		return false, nil
	}
	if c.merging != "" {
		merging := plumbing.NewHash(c.merging)
		done := false
		if objects.has(merging) {
			var err error
			if done, err = objects.contains(ctx, base, merging); err != nil {
				return false, err
			}
		}
		if done {
			return true, in.merged(ctx, e, c, c.merging, c.mergingBy)
		}
		if err := execute(ctx, in.db, "forgetMerge", e.id, c.Number); err != nil {
			return false, err
		}
	}
	done, err := objects.contains(ctx, base, plumbing.NewHash(c.Head.Commit))
	if err != nil || !done {
		return false, err
	}
	return true, in.merged(ctx, e, c, base.String(), actor)
}

// merged stores that a pull request is merged.
func (in *installation) merged(ctx context.Context, e entry, c pullRequest, commit, actor string) error {
	if err := execute(ctx, in.db, "setEnded", commit, actor, microseconds(in.now()), e.id, c.Number); err != nil {
		return err
	}
	return in.tellAbout(ctx, e, forge.EventPullRequest, c.Number, actor)
}

// closed stores that a pull request was closed because nothing is left of it.
func (in *installation) closed(ctx context.Context, e entry, c pullRequest, actor string) error {
	if err := execute(ctx, in.db, "setClosed", actor, microseconds(in.now()), e.id, c.Number); err != nil {
		return err
	}
	return in.tellAbout(ctx, e, forge.EventPullRequest, c.Number, actor)
}

// keepHead sets refs/pull/<number>/head to a pull request's head, so that it can always be fetched.
func (in *installation) keepHead(e entry, number int, commit string) error {
	objects := in.open(e)
	now, err := objects.commit(pullRef(number))
	if err != nil || now.String() == commit {
		return err
	}
	return objects.move(pullRef(number), now, plumbing.NewHash(commit))
}
