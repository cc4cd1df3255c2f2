// Package reflock lets one process at a time move a reference of a Git repository, like git: the process that holds
// the lock file beside the reference can compare and replace it.
//
//	refs/heads/main        the reference
//	refs/heads/main.lock   the process that created this file can replace it
//
// If git is killed, its lock file stays behind and blocks others until a user deletes it. A lock file of this package is
// marked, and also locked through the operating system, which releases the lock when the process dies.
// So locks of our killed processes are taken over at once, and all others are left alone.
package reflock

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kalypso-io/kalypso/internal/git/filelock"
)

// ErrHeld means that another process moves the reference, or that git was killed while it did.
var ErrHeld = errors.New("another process is moving it")

// mark is the content of this package's lock files. Those of git are empty, or contain the reference's new value.
const mark = "kalypso\n"

const suffix = ".lock"

// Lock is an exclusive lock to replace a file. It must be released.
type Lock struct {
	file string
	held *os.File
}

// Take locks a file, whose folder must exist. It does not wait: the error is [ErrHeld] if the lock is taken.
func Take(file string) (*Lock, error) {
	held, err := marked(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	defer os.Remove(held.Name()) //nolint:errcheck // git and this package skip this name
	if err := link(held.Name(), file+suffix); err != nil {
		return nil, errors.Join(err, held.Close())
	}
	return &Lock{file, held}, nil
}

// link gives a lock its name. If the name is released or abandoned meanwhile, link retries a few times.
func link(lock, name string) error {
	for range 3 {
		if err := os.Link(lock, name); !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := removeAbandoned(name); err != nil {
			return err
		}
	}
	return ErrHeld
}

// marked creates a locked file under a temporary name: it is locked before other processes can see it.
func marked(folder string) (*os.File, error) {
	file, err := os.CreateTemp(folder, ".*"+suffix)
	if err != nil {
		return nil, err
	}
	_, err = file.WriteString(mark)
	if err == nil {
		_, err = filelock.TryLock(file)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	return file, nil
}

// removeAbandoned deletes a lock file of ours whose process has died. For any other it returns [ErrHeld].
func removeAbandoned(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // released
	}
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	content := make([]byte, len(mark)+1)
	n, _ := file.Read(content)
	if string(content[:n]) != mark {
		return ErrHeld
	}
	locked, err := filelock.TryLock(file)
	if err != nil {
		return err
	}
	if !locked { // nor without file locks: abandoned locks then stay, as with git
		return ErrHeld
	}
	// Only the holder of a file's lock deletes it, so from here on the path cannot lead to another file.
	if !samePlace(file, path) {
		return nil
	}
	return os.Remove(path)
}

// samePlace reports whether a path still leads to an open file.
func samePlace(file *os.File, path string) bool {
	is, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(is, there)
}

// Replace writes the locked file's new content. Readers see the old or the new content, never a part.
func (l *Lock) Replace(content string) error {
	next, err := os.CreateTemp(filepath.Dir(l.file), ".*"+suffix)
	if err != nil {
		return err
	}
	if err := store(next, content); err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	if err := os.Rename(next.Name(), l.file); err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	return nil
}

// writable is what [store] needs of a file.
type writable interface {
	io.StringWriter
	Chmod(mode fs.FileMode) error
	Sync() error
	Close() error
}

// store writes a file's content and closes the file. The content is on the disk before the file can get its name: after a
// power failure, a reference that leads to an empty file would be lost.
func store(file writable, content string) error {
	_, err := file.WriteString(content)
	return errors.Join(err, file.Chmod(0o644), file.Sync(), file.Close())
}

// Release releases the lock.
func (l *Lock) Release() error {
	return errors.Join(os.Remove(l.file+suffix), l.held.Close())
}
