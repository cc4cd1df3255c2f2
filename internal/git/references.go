package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// reference returns a reference's commit, following symbolic ones. The error is plumbing.ErrReferenceNotFound if it does not exist.
func (s *store) reference(name plumbing.ReferenceName) (plumbing.Hash, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range 5 {
		ref, err := s.own.Reference(name)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		if ref.Type() == plumbing.HashReference {
			return ref.Hash(), nil
		}
		name = ref.Target()
	}
	return plumbing.ZeroHash, fmt.Errorf("symbolic reference %q does not end", name)
}

// references returns the full names of the references below a prefix such as "refs/heads/", sorted.
// It does not use go-git's iteration, which fails on the lock file of a git command that is running.
func (s *store) references(prefix string) ([]string, error) {
	found := map[string]bool{}
	err := filepath.WalkDir(filepath.Join(s.common, filepath.FromSlash(prefix)), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".lock") {
			return err
		}
		name, err := filepath.Rel(s.common, path)
		found[filepath.ToSlash(name)] = true
		return err
	})
	if err != nil {
		return nil, err
	}
	packed, err := os.ReadFile(filepath.Join(s.common, "packed-refs"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(packed)) {
		if _, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.HasPrefix(name, prefix) {
			found[name] = true
		}
	}
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	sort.Strings(names)
	return names, nil
}
