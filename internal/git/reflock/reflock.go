// Package reflock lets one process at a time move a reference of a Git repository, the way git does: whoever has the lock
// file beside the reference may compare and replace it.
//
//	refs/heads/main        the reference
//	refs/heads/main.lock   whoever made this file may replace it
//
// A lock file of git's stays behind when git is killed, and then keeps everybody out until a person deletes it. One of this
// package says whose it is, and whoever made it also locks it for the operating system, which lets go when a process dies.
// So what a killed process of ours left behind is taken over at once, and what anybody else holds is left alone.
package reflock

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kalypso-io/kalypso/internal/git/filelock"
)

// ErrHeld says that another process moves the reference, or was killed while it did when it was git itself.
var ErrHeld = errors.New("another process is moving it")

// mark is what lock files of this package contain. Those of git are empty, or contain what the reference will.
const mark = "kalypso\n"

const suffix = ".lock"

// Lock is the right to replace a file. It has to be released.
type Lock struct {
	file string
	held *os.File
}

// Take locks a file, whose folder exists. It does not wait: the error is [ErrHeld] when somebody else has it.
func Take(file string) (*Lock, error) {
	held, err := marked(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	defer os.Remove(held.Name()) //nolint:errcheck // git and we skip what has this name
	if err := link(held.Name(), file+suffix); err != nil {
		return nil, errors.Join(err, held.Close())
	}
	return &Lock{file, held}, nil
}

// link gives a lock its name. Names that are released or given up meanwhile are tried for again, a few times.
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

// marked makes a locked file that nobody else knows yet: its lock is there before its name is.
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

// removeAbandoned deletes a lock file of ours whose process has died. Any other is held.
func removeAbandoned(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was released
	}
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it is only read
	content := make([]byte, len(mark)+1)
	n, _ := file.Read(content)
	if string(content[:n]) != mark {
		return ErrHeld
	}
	locked, err := filelock.TryLock(file)
	if err != nil {
		return err
	}
	if !locked { // nor where there are no locks: what was left behind is then held, as with git
		return ErrHeld
	}
	// Only who has the lock of a file deletes it, so it cannot become another one's from here on.
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

// Replace writes what the locked file is to contain. Others see the old content or the new one, whatever happens.
func (l *Lock) Replace(content string) error {
	next, err := os.CreateTemp(filepath.Dir(l.file), ".*"+suffix)
	if err != nil {
		return err
	}
	_, err = next.WriteString(content)
	if err := errors.Join(err, next.Chmod(0o644), next.Sync(), next.Close()); err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	if err := os.Rename(next.Name(), l.file); err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	return nil
}

// Release lets others lock the file.
func (l *Lock) Release() error {
	return errors.Join(os.Remove(l.file+suffix), l.held.Close())
}
