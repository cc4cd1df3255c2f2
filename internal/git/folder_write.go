package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// stagingPrefix is the prefix of the folder to which new contents are written before they are moved into place.
// The ID of the writing process follows.
const stagingPrefix = ".kalypso-staging-"

// WriteFolder writes and deletes files of a plain folder. It creates the folder if it is missing.
// It is atomic: contents are first written to a staging folder, then moved into place,
// and moved back if a step fails. Other files are unchanged. Folders that deletions leave empty
// are removed. Symbolic links that lead out of the folder are not followed.
// Paths are relative with forward slashes.
func WriteFolder(ctx context.Context, dir string, put map[string][]byte, remove []string) error {
	for _, p := range slices.Concat(slices.Collect(maps.Keys(put)), remove) {
		if !safePath(p) {
			return &Error{Kind: ErrInvalid, Op: fmt.Sprintf("write file %q in", p), Where: dir, Detail: "it is not a path within the folder"}
		}
	}
	_, missing := os.Stat(dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return writeError(dir, err)
	}
	if err := writeFolder(ctx, dir, put, remove); err != nil {
		if errors.Is(missing, fs.ErrNotExist) {
			_ = os.Remove(dir) // created above; parents can stay
		}
		return err
	}
	return nil
}

// safePath reports whether a path stays within its folder, and outside of .git.
func safePath(p string) bool {
	for part := range strings.SplitSeq(p, "/") {
		if !safeName(part) || strings.ContainsAny(part, "\\\x00") {
			return false
		}
	}
	return true
}

func writeFolder(ctx context.Context, dir string, put map[string][]byte, remove []string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return folderError("open folder", dir, err)
	}
	defer root.Close()
	s := &staging{root: root, dir: stagingPrefix + strconv.Itoa(os.Getpid())}
	defer root.RemoveAll(s.dir) //nolint:errcheck // leftovers are harmless, and removed by the next run
	s.sweep()
	if err := s.write(ctx, put); err != nil {
		return writeError(dir, err)
	}
	if err := s.apply(put, remove); err != nil {
		return writeError(dir, errors.Join(err, s.undo()))
	}
	s.prune(remove)
	return nil
}

// writeError explains why a folder could not be written.
func writeError(dir string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	e := &Error{Kind: ErrNotWritten, Op: "write", Where: dir, Detail: secret.Scrub(err.Error()), Hint: "take away what is in the way, and run the command again"}
	switch {
	case errors.Is(err, fs.ErrPermission):
		e.Kind, e.Hint = ErrDenied, "check the permissions"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		e.Detail, e.Hint = "there is no space left", "free some space, or name a folder on another disk"
	case errors.Is(err, syscall.EFBIG):
		e.Detail, e.Hint = "a file is larger than the limit of this process", `raise the limit ("ulimit -f"), or name a folder elsewhere`
	}
	return e
}

// staging moves files into place, and back.
type staging struct {
	root *os.Root
	dir  string
	// done are the moves so far.
	done []move
	// made are the folders that were created, parents first.
	made []string
	olds int
}

type move struct{ from, to string }

// sweep removes what killed processes left behind. It skips the folders of running processes.
func (s *staging) sweep() {
	left, err := fs.Glob(s.root.FS(), stagingPrefix+"*")
	if err != nil {
		return
	}
	for _, dir := range left {
		pid, err := strconv.Atoi(strings.TrimPrefix(dir, stagingPrefix))
		if err == nil && pid > 0 && !runs(pid) {
			_ = s.root.RemoveAll(dir) // it only clutters the folder
		}
	}
}

// runs reports whether a process is running, including those of other users.
func runs(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer process.Release() //nolint:errcheck // nothing depends on it
	return !errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// write writes the new contents to the staging folder.
func (s *staging) write(ctx context.Context, put map[string][]byte) error {
	if err := s.root.RemoveAll(s.dir); err != nil {
		return err
	}
	if err := s.root.Mkdir(s.dir, 0o755); err != nil {
		return err
	}
	for i, p := range slices.Sorted(maps.Keys(put)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.root.WriteFile(s.staged(i), put[p], 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (s *staging) staged(i int) string { return path.Join(s.dir, "new-"+strconv.Itoa(i)) }

// apply moves old files away and new ones into their place.
func (s *staging) apply(put map[string][]byte, remove []string) error {
	for _, p := range remove {
		if err := s.takeAway(p); err != nil {
			return err
		}
	}
	for i, p := range slices.Sorted(maps.Keys(put)) {
		if err := s.takeAway(p); err != nil {
			return err
		}
		if err := s.makeFolders(path.Dir(p)); err != nil {
			return err
		}
		if err := s.move(s.staged(i), p); err != nil {
			return err
		}
	}
	return nil
}

// takeAway moves a file that blocks a path into the staging folder. A folder there is an error.
func (s *staging) takeAway(p string) error {
	info, err := s.root.Lstat(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		return fmt.Errorf("%q is a folder", p)
	}
	s.olds++
	return s.move(p, path.Join(s.dir, "old-"+strconv.Itoa(s.olds)))
}

func (s *staging) move(from, to string) error {
	if err := s.root.Rename(from, to); err != nil {
		return err
	}
	s.done = append(s.done, move{from, to})
	return nil
}

func (s *staging) makeFolders(dir string) error {
	if dir == "." {
		return nil
	}
	info, err := s.root.Stat(dir)
	if err == nil && !info.IsDir() {
		return fmt.Errorf("%q is a file", dir)
	}
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.makeFolders(path.Dir(dir)); err != nil {
		return err
	}
	s.made = append(s.made, dir)
	return s.root.Mkdir(dir, 0o755)
}

// undo restores the previous state.
func (s *staging) undo() error {
	var failed error
	for _, m := range slices.Backward(s.done) {
		failed = errors.Join(failed, s.root.Rename(m.to, m.from))
	}
	for _, dir := range slices.Backward(s.made) {
		_ = s.root.Remove(dir) // one that is used meanwhile stays
	}
	return failed
}

// prune removes the folders that deletions left empty.
func (s *staging) prune(remove []string) {
	for _, p := range remove {
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			if s.root.Remove(dir) != nil {
				break // not empty
			}
		}
	}
}
