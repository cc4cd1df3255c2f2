package engine

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kalypso-io/kalypso/internal/chart"
)

// The limits of rendering.
const (
	// MaxOutput is the maximum size of the manifests of one target, in bytes.
	MaxOutput = 32 << 20
	// MaxWork limits the work of templates for one target: each run of a loop body or template costs
	// the length of its text in bytes, and a little more. It allows a million runs of a short loop.
	MaxWork = 32 << 20
	// MaxNesting is the maximum depth of nested template calls.
	MaxNesting = 500
)

// checkFiles returns an error if there are too many files, if they are too large, or if a path is invalid.
// It returns them sorted by path.
func checkFiles(files []chart.File) ([]chart.File, error) {
	if len(files) > chart.MaxFiles {
		return nil, fmt.Errorf("there are %d files, more than the %d that are read", len(files), chart.MaxFiles)
	}
	sorted := slices.Clone(files)
	slices.SortStableFunc(sorted, func(a, b chart.File) int { return strings.Compare(a.Path, b.Path) })
	size := 0
	for i, f := range sorted {
		if err := checkPath(f.Path); err != nil {
			return nil, err
		}
		if f.Symlink {
			return nil, fmt.Errorf("%q is a symbolic link; put a copy in its place", f.Path)
		}
		if i > 0 && sorted[i-1].Path == f.Path {
			return nil, fmt.Errorf("%q is there twice", f.Path)
		}
		size += len(f.Content)
	}
	if size > chart.MaxSize {
		return nil, fmt.Errorf("the files have %d bytes, more than the %d that are read", size, chart.MaxSize)
	}
	return sorted, nil
}

// checkPath returns an error for paths that are not plain, relative, and below the root.
func checkPath(p string) error {
	odd := func(r rune) bool { return r == '\\' || unicode.IsControl(r) }
	switch {
	case p == "" || !utf8.ValidString(p) || strings.ContainsFunc(p, odd):
		return fmt.Errorf("%q is not the path of a file", p)
	case path.IsAbs(p) || path.Clean(p) != p || p == ".." || strings.HasPrefix(p, "../"):
		return fmt.Errorf("%q leaves the folder it belongs to, or is not written plainly", p)
	}
	return nil
}
