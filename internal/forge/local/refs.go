package local

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing/cache"

	"github.com/kalypso-io/kalypso/internal/forge/local/receivepack"
	"github.com/kalypso-io/kalypso/internal/git/reflock"
)

// bare is a bare repository on disk. It is opened for each operation, since git can repack objects at any time.
type bare struct {
	*filesystem.Storage
	dir string
	in  *installation
}

func (in *installation) open(e entry) bare {
	dir := in.folder(e)
	return bare{filesystem.NewStorage(osfs.New(dir), cache.NewObjectLRU(16*cache.MiByte)), dir, in}
}

func branchRef(branch string) string { return "refs/heads/" + branch }
func pullRef(number int) string      { return fmt.Sprintf("refs/pull/%d/head", number) }

// commit returns a reference's commit. It returns the zero hash if the reference does not exist.
// It ignores git's lock files and incomplete references.
func (b bare) commit(ref string) (plumbing.Hash, error) {
	if !receivepack.ValidRef(ref) {
		return plumbing.ZeroHash, nil
	}
	text, err := os.ReadFile(filepath.Join(b.dir, filepath.FromSlash(ref)))
	if err == nil {
		return plumbing.NewHash(strings.TrimSpace(string(text))), nil
	}
	packed, err := b.packed()
	return packed[ref], err
}

func (b bare) branch(name string) (plumbing.Hash, error) { return b.commit(branchRef(name)) }

// packed returns the references that git has packed into one file.
func (b bare) packed() (map[string]plumbing.Hash, error) {
	text, err := os.ReadFile(filepath.Join(b.dir, "packed-refs"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	refs := map[string]plumbing.Hash{}
	for line := range strings.Lines(string(text)) {
		if hash, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok && plumbing.IsHash(hash) {
			refs[name] = plumbing.NewHash(hash)
		}
	}
	return refs, nil
}

// branches returns all branches and their commits.
func (b bare) branches() (map[string]plumbing.Hash, error) {
	packed, err := b.packed()
	if err != nil {
		return nil, err
	}
	heads := map[string]plumbing.Hash{}
	for name, hash := range packed {
		if branch, ok := strings.CutPrefix(name, "refs/heads/"); ok {
			heads[branch] = hash
		}
	}
	root := filepath.Join(b.dir, "refs", "heads")
	err = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".lock") {
			return err
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		name, _ := filepath.Rel(root, path)
		heads[filepath.ToSlash(name)] = plumbing.NewHash(strings.TrimSpace(string(text)))
		return err
	})
	return heads, err
}

// defaultBranch returns the branch that HEAD names.
func (b bare) defaultBranch() string {
	text, _ := os.ReadFile(filepath.Join(b.dir, "HEAD"))
	branch, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "ref: refs/heads/")
	if !ok {
		return "main"
	}
	return branch
}

// move sets a reference to a commit if it points to old. The zero hash as old means that it must not exist.
// It locks like git: the process that creates the lock file beside the reference can compare and replace.
func (b bare) move(ref string, old, to plumbing.Hash) error {
	if !receivepack.ValidRef(ref) {
		return invalid("no reference can have this name")
	}
	file := filepath.Join(b.dir, filepath.FromSlash(ref))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return conflict("a branch of this name or of a part of it is in the way")
	}
	lock, err := take(file)
	if err != nil {
		return err
	}
	defer lock.Release() //nolint:errcheck // a lock that was not released is taken over
	if now, err := b.commit(ref); err != nil || now != old {
		return cmp.Or(err, conflict("the branch has moved meanwhile"))
	}
	// Deleted references leave empty folders behind, and one may have this name.
	if info, err := os.Lstat(file); err == nil && info.IsDir() {
		if os.Remove(file) != nil {
			return conflict("a branch below this name is in the way")
		}
	}
	return lock.Replace(to.String() + "\n")
}

// take locks a file of references. It takes over locks that a git command left behind long ago.
func take(file string) (*reflock.Lock, error) {
	const abandoned = 10 * time.Minute
	lock, err := reflock.Take(file)
	if info, gone := os.Stat(file + ".lock"); errors.Is(err, reflock.ErrHeld) && gone == nil && time.Since(info.ModTime()) > abandoned {
		_ = os.Remove(file + ".lock")
		lock, err = reflock.Take(file)
	}
	if errors.Is(err, reflock.ErrHeld) {
		return nil, conflict("another process is moving the branch")
	}
	return lock, err
}

// remove deletes a branch if it is at a commit. Packed references are rewritten without it.
func (b bare) remove(ref string, old plumbing.Hash) error {
	file := filepath.Join(b.dir, filepath.FromSlash(ref))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	lock, err := take(file)
	if err != nil {
		return err
	}
	defer lock.Release() //nolint:errcheck // a lock that was not released is taken over
	if now, err := b.commit(ref); err != nil || now != old {
		return cmp.Or(err, conflict("the branch has moved meanwhile"))
	}
	if err := b.unpack(ref); err != nil {
		return err
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// unpack removes a reference from the packed ones.
func (b bare) unpack(ref string) error {
	file := filepath.Join(b.dir, "packed-refs")
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) || err == nil && !strings.Contains(string(text), " "+ref+"\n") {
		return nil
	}
	if err != nil {
		return err
	}
	lock, err := take(file)
	if err != nil {
		return err
	}
	defer lock.Release() //nolint:errcheck // a lock that was not released is taken over
	var kept strings.Builder
	skipped := false
	for line := range strings.Lines(string(text)) {
		// A line that begins with a caret is the commit of the tag above it.
		skipped = strings.HasSuffix(line, " "+ref+"\n") || skipped && strings.HasPrefix(line, "^")
		if !skipped {
			kept.WriteString(line)
		}
	}
	return lock.Replace(kept.String())
}

// has reports whether a commit exists.
func (b bare) has(hash plumbing.Hash) bool {
	_, err := object.GetCommit(b, hash)
	return err == nil
}

// parent returns the first parent of a commit. It returns the zero hash if the commit has none.
func (b bare) parent(hash plumbing.Hash) (plumbing.Hash, error) {
	commit, err := object.GetCommit(b, hash)
	if err != nil || len(commit.ParentHashes) == 0 {
		return plumbing.ZeroHash, err
	}
	return commit.ParentHashes[0], nil
}
