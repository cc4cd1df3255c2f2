package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-io/kalypso/internal/git/reflock"
)

// moveLocal moves a branch of a local repository like git: the process that holds the lock file beside the reference
// can compare and replace it, which excludes concurrent git commands.
func (r *Repository) moveLocal(branch string, from, to plumbing.Hash) error {
	op := fmt.Sprintf("move branch %q of", branch)
	if where := r.checkedOut(branch); where != "" {
		return &Error{
			Kind: ErrCheckedOut, Op: op, Where: r.Name,
			Detail: "the work tree " + where + " has it checked out and would no longer match it",
			Hint:   "name another branch with --branch, or write to a folder with --out",
		}
	}
	if _, err := r.store().size(to); err != nil {
		return r.noCommit(to.String())
	}
	if err := r.occupied(branch); err != nil {
		return err
	}
	return r.moveReference(op, plumbing.NewBranchReferenceName(branch), from, to)
}

// moveReference moves a reference of a local repository.
func (r *Repository) moveReference(op string, name plumbing.ReferenceName, from, to plumbing.Hash) error {
	path := filepath.Join(r.store().common, filepath.FromSlash(name.String()))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return r.moveError(op, err)
	}
	lock, err := reflock.Take(path)
	if err != nil {
		return r.moveError(op, err)
	}
	defer lock.Release() //nolint:errcheck // a lock that was not released is taken over
	now, err := r.store().reference(name)
	if err != nil && !errors.Is(err, plumbing.ErrReferenceNotFound) {
		return r.corrupt(op, err)
	}
	if now != from {
		return r.moved(name.Short())
	}
	// Deleted branches leave empty folders behind, one of which may have this branch's name.
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		_ = os.Remove(path)
	}
	if err := lock.Replace(to.String() + "\n"); err != nil {
		return r.moveError(op, err)
	}
	return nil
}

func (r *Repository) moveError(op string, err error) error {
	if errors.Is(err, reflock.ErrHeld) {
		return &Error{
			Kind: ErrUnavailable, Op: op, Where: r.Name, Detail: "another process is moving it",
			Hint: "try again; if no git command is running, delete the .lock file below .git/refs/heads", cause: ErrHeld,
		}
	}
	return storageError(op, r.Name, err)
}

// occupied returns an error if another branch's name is a parent folder of this one's, or vice versa. Packed references
// are not in the file system.
func (r *Repository) occupied(branch string) error {
	names, err := r.store().references("refs/heads/")
	if err != nil {
		return r.corrupt("list branches of", err)
	}
	for _, name := range names {
		name = strings.TrimPrefix(name, "refs/heads/")
		if strings.HasPrefix(name, branch+"/") || strings.HasPrefix(branch, name+"/") {
			return &Error{
				Kind: ErrInvalid, Op: fmt.Sprintf("make branch %q of", branch), Where: r.Name,
				Detail: fmt.Sprintf("there is a branch %q, and Git cannot have both", name), Hint: "name another branch",
			}
		}
	}
	return nil
}

// checkedOut returns the work tree that has a branch checked out, the main one or a linked one. Empty if none has.
func (r *Repository) checkedOut(branch string) string {
	common := r.store().common
	if headIs(filepath.Join(common, "HEAD"), branch) && !isBare(common) {
		return filepath.Dir(common)
	}
	linked, _ := filepath.Glob(filepath.Join(common, "worktrees", "*", "HEAD"))
	for _, head := range linked {
		if !headIs(head, branch) {
			continue
		}
		link, err := os.ReadFile(filepath.Join(filepath.Dir(head), "gitdir"))
		if err != nil {
			return filepath.Dir(head)
		}
		return filepath.Dir(strings.TrimSpace(string(link)))
	}
	return ""
}

func headIs(file, branch string) bool {
	head, err := os.ReadFile(file)
	return err == nil && strings.TrimSpace(string(head)) == "ref: refs/heads/"+branch
}

func isBare(dir string) bool {
	c, err := readConfigFile(filepath.Join(dir, "config"))
	return err == nil && c.HasSection("core") && isTrue(c.Section("core").Option("bare"))
}
