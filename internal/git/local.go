package git

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Discover returns the folder of the repository that contains a folder: the root of the work tree, or the bare repository.
// Outside of any repository, the error is ErrRepositoryNotFound.
func Discover(dir string) (string, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the repository of %q: %w", dir, err)
	}
	for at := start; ; at = filepath.Dir(at) {
		if _, ok := findGitDir(at); ok {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", &Error{
				Kind: ErrRepositoryNotFound, Op: "find the repository of", Where: start,
				Detail: "neither it nor a folder above it is a Git repository", Hint: "name one, or change to one",
			}
		}
	}
}

// Home returns the folder next to which a repository's siblings are:
// for a linked work tree, its main repository's folder; otherwise the folder itself.
func Home(dir string) string {
	gitDir, ok := findGitDir(dir)
	if !ok {
		return dir
	}
	common, err := commonDir(gitDir)
	switch {
	case err != nil || common == gitDir:
		return dir
	case filepath.Base(common) == ".git":
		return filepath.Dir(common)
	default:
		return common
	}
}

// openLocal opens a repository on the file system in place.
// If it does not exist but a folder with the suffix ".git" does, it opens that one. An empty name means the path.
func (c *Client) openLocal(path, name string) (*Repository, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		if bare, bareErr := os.Stat(path + ".git"); bareErr == nil {
			path, info, err = path+".git", bare, nil
		}
	}
	name = cmp.Or(name, path)
	if err != nil {
		return nil, openError(name, err)
	}
	if !info.IsDir() {
		return nil, &Error{Kind: ErrRepositoryNotFound, Op: "open", Where: name, Detail: "it is a file", Hint: "name the folder of a repository"}
	}
	dir, ok := findGitDir(path)
	if !ok {
		return &Repository{Name: name, client: c, folder: path}, nil
	}
	s, err := openStore(dir)
	if err != nil {
		return nil, openError(name, err)
	}
	r := &Repository{Name: name, client: c}
	r.current.Store(s)
	return r, nil
}

// findGitDir returns the Git directory of a folder: a work tree's, or the folder itself.
func findGitDir(path string) (string, bool) {
	dot := filepath.Join(path, ".git")
	info, err := os.Stat(dot)
	switch {
	case err == nil && info.IsDir() && isGitDir(dot):
		return dot, true
	case err == nil && info.Mode().IsRegular():
		return readGitFile(dot)
	case isGitDir(path):
		return path, true
	}
	return "", false
}

// readGitFile follows the ".git" file of a linked work tree or a submodule.
func readGitFile(file string) (string, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", false
	}
	dir, found := strings.CutPrefix(string(text), "gitdir:")
	if dir = filepath.FromSlash(strings.TrimSpace(dir)); !found || dir == "" {
		return "", false
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(file), dir)
	}
	return filepath.Clean(dir), isGitDir(dir)
}

// isGitDir reports whether a folder is a Git directory: it has a HEAD, and objects or a link to them.
func isGitDir(dir string) bool {
	if info, err := os.Stat(filepath.Join(dir, "HEAD")); err != nil || !info.Mode().IsRegular() {
		return false
	}
	for _, sign := range []string{"objects", "commondir"} {
		if _, err := os.Stat(filepath.Join(dir, sign)); err == nil {
			return true
		}
	}
	return false
}

// openError converts an error of opening a local repository.
func openError(name string, err error) error {
	var ours *Error
	var unsupported unsupportedError
	switch {
	case errors.As(err, &ours):
		return err
	case errors.As(err, &unsupported):
		return &Error{Kind: ErrInvalid, Op: "open", Where: name, Detail: err.Error(), Hint: "convert it, or clone it in the usual format"}
	case errors.Is(err, os.ErrNotExist):
		return &Error{Kind: ErrRepositoryNotFound, Op: "open", Where: name, Detail: "there is no such folder", Hint: "check the path, or map the URL to a clone"}
	case errors.Is(err, os.ErrPermission):
		return &Error{Kind: ErrDenied, Op: "open", Where: name, Hint: "check the permissions of the folder"}
	default:
		return &Error{Kind: ErrCorrupt, Op: "open", Where: name, Detail: reason(err), Hint: `check it with "git fsck", or clone it again`}
	}
}
