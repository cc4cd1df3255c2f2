package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage"
)

// repository is a Git repository to be created.
type repository struct {
	// branches have one commit each and no history in common. The first one is checked out.
	branches []branch // required
	author   object.Signature
	// remote is the URL of the remote origin; empty for none.
	remote string
}

// createRepository writes a repository to dir, which must be new or an empty folder.
// It is built beside its place and moved there when it is complete, so that an error leaves nothing behind.
func createRepository(dir string, r repository) error {
	exists, err := checkFree(dir)
	if err != nil {
		return err
	}
	// Within one folder a move is a rename. A folder that exists is kept, because somebody may stand in it.
	parent := filepath.Dir(filepath.Clean(dir))
	if exists {
		parent = dir
	} else if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	building, err := os.MkdirTemp(parent, ".kalypso-init-")
	if err != nil {
		return err
	}
	// After a rename there is nothing left to remove.
	defer os.RemoveAll(building)

	if err := r.build(building); err != nil {
		return fmt.Errorf("build the repository: %w", err)
	}
	// MkdirTemp makes folders that only their owner may read.
	if err := os.Chmod(building, 0o755); err != nil {
		return err
	}
	if exists {
		return moveEntries(building, dir)
	}
	return os.Rename(building, dir)
}

// checkFree reports whether dir exists. A file, or a folder that holds anything, is an error.
func checkFree(dir string) (exists bool, err error) {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return false, nil
	case err != nil:
		return false, failed(err, "name a folder that does not exist yet, or an empty one")
	case len(entries) > 0:
		return false, failed(fmt.Errorf("%s is not empty: it holds %q", dir, entries[0].Name()),
			"name a folder that does not exist yet, or an empty one; nothing was written")
	}
	return true, nil
}

// moveEntries moves everything from one folder to another, or nothing.
// The folder .git comes last: until it is there nobody takes the other folder for a repository.
func moveEntries(from, to string) (err error) {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	git := slices.IndexFunc(entries, func(e os.DirEntry) bool { return e.Name() == gogit.GitDirName })
	entries = append(slices.Delete(slices.Clone(entries), git, git+1), entries[git])
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
func (r repository) build(dir string) error {
	head := plumbing.NewBranchReferenceName(r.branches[0].name)
	repo, err := gogit.PlainInitWithOptions(dir, &gogit.PlainInitOptions{
		InitOptions: gogit.InitOptions{DefaultBranch: head},
	})
	if err != nil {
		return err
	}
	for _, b := range r.branches {
		if err := r.commit(repo.Storer, b); err != nil {
			return fmt.Errorf("branch %q: %w", b.name, err)
		}
	}
	if r.remote != "" {
		if _, err := repo.CreateRemote(&config.RemoteConfig{Name: "origin", URLs: []string{r.remote}}); err != nil {
			return err
		}
	}
	work, err := repo.Worktree()
	if err != nil {
		return err
	}
	return work.Checkout(&gogit.CheckoutOptions{Branch: head, Force: true})
}

// commit writes a branch with a single commit.
func (r repository) commit(s storage.Storer, b branch) error {
	tree, err := writeTree(s, b.files)
	if err != nil {
		return err
	}
	commit := &object.Commit{
		Author:    r.author,
		Committer: r.author,
		Message:   fmt.Sprintf("Start the branch %s\n\nWritten by kalypso init.\n", b.name),
		TreeHash:  tree,
	}
	id, err := writeObject(s, commit.Encode)
	if err != nil {
		return err
	}
	return s.SetReference(plumbing.NewHashReference(plumbing.NewBranchReferenceName(b.name), id))
}

// writeTree writes a folder with all that lies below it. Paths have forward slashes.
func writeTree(s storage.Storer, files map[string][]byte) (plumbing.Hash, error) {
	tree := &object.Tree{}
	folders := map[string]map[string][]byte{}
	for name, content := range files {
		if folder, rest, ok := strings.Cut(path.Clean(name), "/"); ok {
			if folders[folder] == nil {
				folders[folder] = map[string][]byte{}
			}
			folders[folder][rest] = content
			continue
		}
		id, err := writeBlob(s, content)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		tree.Entries = append(tree.Entries, object.TreeEntry{Name: name, Mode: filemode.Regular, Hash: id})
	}
	for name, below := range folders {
		id, err := writeTree(s, below)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		tree.Entries = append(tree.Entries, object.TreeEntry{Name: name, Mode: filemode.Dir, Hash: id})
	}
	sort.Sort(object.TreeEntrySorter(tree.Entries))
	return writeObject(s, tree.Encode)
}

func writeBlob(s storage.Storer, content []byte) (plumbing.Hash, error) {
	return writeObject(s, func(o plumbing.EncodedObject) error {
		o.SetType(plumbing.BlobObject)
		w, err := o.Writer()
		if err != nil {
			return err
		}
		if _, err := w.Write(content); err != nil {
			return err
		}
		return w.Close()
	})
}

func writeObject(s storage.Storer, encode func(plumbing.EncodedObject) error) (plumbing.Hash, error) {
	o := s.NewEncodedObject()
	if err := encode(o); err != nil {
		return plumbing.ZeroHash, err
	}
	return s.SetEncodedObject(o)
}
