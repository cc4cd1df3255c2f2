package git

import (
	"cmp"
	"context"
	"crypto/sha1" // Git's object names are SHA-1.
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Folder returns the files of a plain folder, or of a work tree with its uncommitted changes, as a tree.
// It skips .git. Folders that are repositories themselves are submodules.
// Symbolic links are reported but never followed.
func Folder(dir string) (*Tree, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find folder %q: %w", dir, err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, folderError("read folder", dir, err)
	}
	if !info.IsDir() {
		return nil, &Error{Kind: ErrInvalid, Op: "read folder", Where: dir, Detail: "it is a file", Hint: "name a folder"}
	}
	return &Tree{dir: dir}, nil
}

// resolveFolder finds the subfolder for a branch.
func (r *Repository) resolveFolder(branch, revision string) (Commit, error) {
	names, err := folderBranches(r.folder)
	if err != nil {
		return Commit{}, err
	}
	if revision != "" {
		return Commit{}, &Error{
			Kind: ErrCommitNotFound, Op: fmt.Sprintf("read commit %q of", secret.Line(revision)), Where: r.Name,
			Detail: "a plain folder has no commits", Hint: "name a clone of the repository instead",
		}
	}
	for _, name := range names {
		if name == branch || (branch == "" && name == "main") {
			return Commit{Branch: name}, nil
		}
	}
	// Branch names can contain slashes; their folders are nested.
	if branch != "" && checkBranch(branch, false) == nil && isPlainDir(filepath.Join(r.folder, filepath.FromSlash(branch))) {
		return Commit{Branch: branch}, nil
	}
	hint := "in a plain folder each subfolder is a branch; it has " + strings.Join(names[:min(len(names), 8)], ", ")
	if len(names) == 0 {
		hint = "name a Git repository, or a folder with a subfolder for each branch"
	}
	return Commit{}, &Error{Kind: ErrBranchNotFound, Op: fmt.Sprintf("read branch %q of", cmp.Or(secret.Line(branch), "main")), Where: r.Name, Hint: hint}
}

func isPlainDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// folderBranches lists the subfolders that can be branches.
func folderBranches(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, folderError("list branches of", dir, err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && checkBranch(e.Name(), false) == nil {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// folderFiles lists the files of a folder at or below a path, sorted.
func folderFiles(ctx context.Context, dir, below string) ([]Entry, error) {
	var entries []Entry
	err := filepath.WalkDir(filepath.Join(dir, filepath.FromSlash(below)), func(path string, d fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		e, ok, err := folderEntry(path, filepath.ToSlash(rel), d)
		if ok && len(entries) == maxEntries {
			err = errTreeTooLarge
		}
		if ok {
			entries = append(entries, e)
		}
		return err
	})
	if end := ended(ctx, err); end != nil {
		return nil, end
	}
	if err != nil {
		return nil, folderError("list files of", filepath.Join(dir, filepath.FromSlash(below)), err)
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Path < entries[j].Path })
	return entries, nil
}

// folderEntry describes one file. The error fs.SkipDir skips a folder's content.
func folderEntry(path, rel string, d fs.DirEntry) (Entry, bool, error) {
	e := Entry{Path: rel}
	switch {
	case strings.EqualFold(d.Name(), ".git"):
		if d.IsDir() {
			return e, false, fs.SkipDir
		}
		return e, false, nil
	case d.IsDir():
		if _, nested := findGitDir(path); nested && rel != "." {
			e.Mode, e.Hash = Submodule, plumbing.ZeroHash.String()
			return e, true, fs.SkipDir
		}
		return e, false, nil
	case d.Type()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		content := []byte(filepath.ToSlash(target))
		e.Mode, e.Size, e.Hash = Symlink, int64(len(content)), objectHash(plumbing.BlobObject, content).String()
		return e, err == nil, err
	case !d.Type().IsRegular():
		// Git cannot store sockets, pipes and devices.
		return e, false, nil
	}
	return hashFile(e, path, d)
}

// hashFile computes the blob ID of a file without loading it into memory.
func hashFile(e Entry, path string, d fs.DirEntry) (Entry, bool, error) {
	info, err := d.Info()
	if err != nil {
		return e, false, err
	}
	if info.Mode()&0o100 != 0 {
		e.Mode = Executable
	}
	file, err := os.Open(path)
	if err != nil {
		return e, false, err
	}
	defer file.Close()
	e.Size = info.Size()
	h := sha1.New()
	_, _ = io.WriteString(h, "blob "+strconv.FormatInt(e.Size, 10)+"\x00")
	if n, err := io.Copy(h, io.LimitReader(file, e.Size)); err != nil || n != e.Size {
		return e, false, errors.Join(err, fmt.Errorf("%q changed while it was read", path))
	}
	e.Hash = plumbing.Hash(h.Sum(nil)).String()
	return e, true, nil
}

// readFolderFile reads a listed file, if it has not changed since.
func readFolderFile(dir string, e Entry, limit int64) ([]byte, error) {
	path := filepath.Join(dir, filepath.FromSlash(e.Path))
	op := "read file"
	var content []byte
	switch e.Mode {
	case Submodule:
		return nil, &Error{Kind: ErrInvalid, Op: op, Where: path, Detail: "it is a submodule"}
	case Symlink:
		target, err := os.Readlink(path)
		if err != nil {
			return nil, folderError(op, path, err)
		}
		content = []byte(filepath.ToSlash(target))
	default:
		// A link created meanwhile must not lead out of the folder.
		file, err := os.OpenInRoot(dir, filepath.FromSlash(e.Path))
		if err != nil {
			return nil, folderError(op, path, err)
		}
		defer file.Close()
		if content, err = io.ReadAll(io.LimitReader(file, limit+1)); err != nil {
			return nil, folderError(op, path, err)
		}
	}
	if int64(len(content)) > limit {
		return nil, &Error{Kind: ErrTooLarge, Op: op, Where: path, Detail: tooLargeError{max(e.Size, limit+1), limit}.Error(), Hint: "make it smaller, or keep it elsewhere"}
	}
	if objectHash(plumbing.BlobObject, content).String() != e.Hash {
		return nil, &Error{Kind: ErrUnavailable, Op: op, Where: path, Detail: "it changed while the folder was read", Hint: "run the command again"}
	}
	return content, nil
}

func folderError(op, path string, err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return &Error{Kind: ErrPathNotFound, Op: op, Where: path, Hint: "check the path"}
	case errors.Is(err, os.ErrPermission):
		return &Error{Kind: ErrDenied, Op: op, Where: path, Hint: "check the permissions"}
	case errors.Is(err, errTreeTooLarge):
		return &Error{Kind: ErrTooLarge, Op: op, Where: path, Detail: err.Error()}
	default:
		return &Error{Kind: ErrUnavailable, Op: op, Where: path, Detail: secret.Scrub(err.Error()), Hint: "run the command again"}
	}
}
