package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// CreateRequest describes a repository to be created.
type CreateRequest struct {
	// Branches have one commit each, without common history. The first one is the default. // required
	Branches []NewBranch
	// Author is the author of the commits, When their time. // required
	Author Person
	When   time.Time
	// Bare creates a repository without a work tree. Otherwise the first branch is checked out.
	Bare bool
	// Remote is the URL of the remote origin. Optional.
	Remote string
}

// NewBranch is a branch of a repository to be created.
type NewBranch struct {
	// Name is the name of the branch, Message the message of its commit. // required
	Name, Message string
	// Files maps paths to contents. At least one. // required
	Files map[string][]byte
}

// Create creates a repository in a folder, which must be new or empty; otherwise the error is ErrInvalid.
// It builds the repository in a temporary folder and moves it into place when it is complete, so an error leaves nothing
// behind except parent folders.
func Create(ctx context.Context, dir string, request CreateRequest) error {
	exists, err := checkFree(dir)
	if err != nil {
		return err
	}
	if err := request.create(ctx, dir, exists); err != nil {
		return storageError("create repository", dir, err)
	}
	return nil
}

func (c CreateRequest) create(ctx context.Context, dir string, exists bool) error {
	// Within one folder a move is a rename. An existing folder is kept, because it may be a shell's working directory.
	parent := filepath.Dir(filepath.Clean(dir))
	if exists {
		parent = dir
	} else if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	building, err := os.MkdirTemp(parent, ".kalypso-new-")
	if err != nil {
		return err
	}
	// After a rename there is nothing left to remove.
	defer os.RemoveAll(building)

	if err := c.build(ctx, building); err != nil {
		return err
	}
	if exists {
		return moveEntries(building, dir)
	}
	// MkdirTemp creates folders that only their owner can read.
	if err := os.Chmod(building, 0o755); err != nil {
		return err
	}
	return os.Rename(building, dir)
}

// checkFree reports whether dir exists. A file, or a folder that is not empty, is an error.
func checkFree(dir string) (exists bool, err error) {
	e := &Error{Kind: ErrInvalid, Op: "create repository", Where: dir, Hint: "name a folder that does not exist yet, or an empty one"}
	info, err := os.Stat(dir)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err == nil && !info.IsDir() {
		e.Detail = "it is a file"
		return true, e
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return true, storageError("create repository", dir, err)
	}
	if len(entries) > 0 {
		e.Detail = fmt.Sprintf("it holds %q already; nothing was written", secret.Line(entries[0].Name()))
		return true, e
	}
	return true, nil
}

// moveEntries moves everything from one folder to another, or nothing.
// It moves last what makes the folder a Git directory, so that no program sees an incomplete repository.
func moveEntries(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	isSign := func(e os.DirEntry) bool { return e.Name() == gogit.GitDirName || e.Name() == "HEAD" }
	if i := slices.IndexFunc(entries, isSign); i >= 0 {
		entries = append(slices.Delete(slices.Clone(entries), i, i+1), entries[i])
	}
	for i, entry := range entries {
		if err := os.Rename(filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name())); err != nil {
			return errors.Join(err, removeEntries(to, entries[:i]))
		}
	}
	return nil
}

func removeEntries(dir string, entries []os.DirEntry) error {
	var errs []error
	for _, entry := range entries {
		errs = append(errs, os.RemoveAll(filepath.Join(dir, entry.Name())))
	}
	return errors.Join(errs...)
}

// build writes the repository into an empty folder, and checks the first branch out.
func (c CreateRequest) build(ctx context.Context, dir string) error {
	if len(c.Branches) == 0 {
		return &Error{Kind: ErrInvalid, Op: "create repository", Detail: "it has no branch"}
	}
	for _, b := range c.Branches {
		if err := checkBranch(b.Name, false); err != nil {
			return err
		}
	}
	head := plumbing.NewBranchReferenceName(c.Branches[0].Name)
	made, err := gogit.PlainInitWithOptions(dir, &gogit.PlainInitOptions{
		InitOptions: gogit.InitOptions{DefaultBranch: head}, Bare: c.Bare,
	})
	if err != nil {
		return err
	}
	if c.Remote != "" {
		if _, err := made.CreateRemote(&config.RemoteConfig{Name: "origin", URLs: []string{c.Remote}}); err != nil {
			return err
		}
	}
	if err := c.commit(ctx, dir, made); err != nil || c.Bare {
		return err
	}
	work, err := made.Worktree()
	if err != nil {
		return err
	}
	return work.Checkout(&gogit.CheckoutOptions{Branch: head, Force: true})
}

// commit writes the commit of each branch.
func (c CreateRequest) commit(ctx context.Context, dir string, made *gogit.Repository) error {
	r, err := (&Client{}).openLocal(dir, "")
	if err != nil {
		return err
	}
	defer r.close() //nolint:errcheck // only files open for reading are left
	for _, b := range c.Branches {
		commit, err := r.Commit(ctx, CommitRequest{Put: b.Files, Message: b.Message, Author: c.Author, When: c.When})
		if err != nil {
			return fmt.Errorf("branch %q: %w", b.Name, err)
		}
		name := plumbing.NewBranchReferenceName(b.Name)
		// [Repository.Push] would refuse to move the branch that will be checked out.
		if err := made.Storer.SetReference(plumbing.NewHashReference(name, plumbing.NewHash(commit.Hash))); err != nil {
			return fmt.Errorf("branch %q: %w", b.Name, err)
		}
	}
	return nil
}
