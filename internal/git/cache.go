package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// cache is the location of one remote repository's bare clone:
//
//	<cache folder>/<hash of the URL>.git      the clone
//	<cache folder>/<hash of the URL>.lock     locked during a fetch
//	<cache folder>/<hash of the URL>.damaged  the clone has to be fetched again
//	<cache folder>/<hash of the URL>.old*     earlier clones, until they are removed
type cache struct {
	base string
	// called is the repository's name in errors. If empty, errors name the files.
	called string
}

// newCache derives the location from scheme, user, host and path: two users may see different repositories at one URL.
func newCache(dir string, l location) cache {
	sum := sha256.Sum256([]byte(l.scheme + "\x00" + l.user + "\x00" + l.hostPort() + "\x00" + l.path))
	return cache{base: filepath.Join(dir, hex.EncodeToString(sum[:16]))}
}

func (c cache) dir() string { return c.base + ".git" }

// markDamaged is best effort: an unmarked clone is found damaged again.
func (c cache) markDamaged() { _ = os.WriteFile(c.base+".damaged", nil, 0o600) }

func (c cache) damaged() bool {
	_, err := os.Lstat(c.base + ".damaged")
	return err == nil
}

// lock waits until no other process or client fetches this repository.
// The operating system releases the lock of a process that dies.
func (c cache) lock(ctx context.Context, progress func(string)) (unlock func(), err error) {
	// The clones can contain what only this user can read.
	if err := os.MkdirAll(filepath.Dir(c.base), 0o700); err != nil {
		return nil, c.error("create", filepath.Dir(c.base), err)
	}
	type result struct {
		unlock func()
		err    error
	}
	done := make(chan result, 1)
	go func() {
		unlock, err := lockedfile.MutexAt(c.base + ".lock").Lock()
		done <- result{unlock, err}
	}()
	patience := time.NewTimer(time.Second)
	defer patience.Stop()
	for {
		select {
		case r := <-done:
			if r.err != nil {
				return nil, c.error("lock", c.base+".lock", r.err)
			}
			return r.unlock, nil
		case <-patience.C:
			progress("waiting for another process that fetches the same repository")
		case <-ctx.Done():
			go func() {
				if r := <-done; r.err == nil {
					r.unlock()
				}
			}()
			return nil, ctx.Err()
		}
	}
}

// maxPacks is the number of fetches after which a clone is fetched again, since nothing else repacks it.
const maxPacks = 200

// open opens the clone. It creates an empty one if the clone is missing or unusable. The cache must be locked.
func (c cache) open() (*store, error) {
	packs, _ := filepath.Glob(filepath.Join(c.dir(), "objects", "pack", "*.pack"))
	if !c.damaged() && len(packs) <= maxPacks && isGitDir(c.dir()) {
		if s, err := openStore(c.dir()); err == nil {
			return s, nil
		}
	}
	if err := c.reset(); err != nil {
		return nil, c.error("create", c.dir(), err)
	}
	s, err := openStore(c.dir())
	if err != nil {
		return nil, c.error("open", c.dir(), err)
	}
	return s, nil
}

// reset creates an empty clone. It removes the mark of damage last, so that an interrupted reset is repeated.
// The old clone is moved first: others may write into it while it is removed, and what they leave is removed by the next reset.
func (c cache) reset() error {
	abandoned, _ := filepath.Glob(c.base + ".old*")
	old, err := os.MkdirTemp(filepath.Dir(c.base), filepath.Base(c.base)+".old")
	if err != nil {
		return err
	}
	if err := os.Rename(c.dir(), filepath.Join(old, "clone")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, dir := range append(abandoned, old) {
		_ = os.RemoveAll(dir)
	}
	if err := os.MkdirAll(c.dir(), 0o700); err != nil {
		return err
	}
	s := openStorage(c.dir(), c.dir())
	if err := s.Init(); err != nil {
		return err
	}
	files := map[string]string{
		"HEAD":   "ref: refs/heads/main\n",
		"config": "[core]\n\trepositoryformatversion = 0\n\tbare = true\n",
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(c.dir(), name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	if err := os.Remove(c.base + ".damaged"); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (c cache) error(op, path string, err error) error {
	if c.called != "" {
		return storageError(op+" cached clone of", c.called, err)
	}
	return storageError(op+" cached clone", path, err)
}

// reason returns the cause of a disk error, without the path, which errors name where appropriate.
func reason(err error) string {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return secret.Scrub(err.Error())
}

// storageError converts an error of writing to the disk.
func storageError(op, path string, err error) error {
	var ours *Error
	if errors.As(err, &ours) {
		return err
	}
	kind := ErrUnavailable
	if errors.Is(err, os.ErrPermission) {
		kind = ErrDenied
	}
	e := &Error{
		Kind: kind, Op: op, Where: path, Detail: reason(err),
		Hint: "check the folder's permissions and the space on its disk",
	}
	if errors.Is(err, syscall.ENOSPC) {
		e.cause = syscall.ENOSPC
	}
	return e
}
