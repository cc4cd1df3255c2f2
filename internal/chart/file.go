package chart

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds of what is rendered.
const (
	// MaxFiles is the largest number of files of a chart or kustomization, those of its dependencies included.
	MaxFiles = 20_000
	// MaxSize is the largest size of all of them together, in bytes.
	MaxSize = 20 << 20
	// MaxOutput is the largest size of the manifests of one target, in bytes.
	MaxOutput = 32 << 20
	// MaxWork bounds what templates do for one target: each run of a loop's body and of a template costs
	// the length of its text in bytes, and a little more. It is enough for a million runs of a short loop.
	MaxWork = 32 << 20
	// MaxNesting is how deep templates may call each other.
	MaxNesting = 500
)

// File is a file of a chart, a kustomization or a folder of manifests.
type File struct {
	// Path is relative to the chart, or to the root of the repository, with forward slashes.
	Path string `json:"path"`
	// Content is the content; nothing is read through it.
	Content []byte `json:"content"`
	// Symlink marks a symbolic link, which is refused.
	Symlink bool `json:"symlink,omitempty"`
}

// checkFiles refuses files that are too many, too large, or not where they belong. It returns them sorted by path.
func checkFiles(files []File) ([]File, error) {
	if len(files) > MaxFiles {
		return nil, fmt.Errorf("there are %d files, more than the %d that are read", len(files), MaxFiles)
	}
	sorted := slices.Clone(files)
	slices.SortStableFunc(sorted, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
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
	if size > MaxSize {
		return nil, fmt.Errorf("the files have %d bytes, more than the %d that are read", size, MaxSize)
	}
	return sorted, nil
}

// checkPath refuses paths that are not plain, relative and below where they are.
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

// Digest identifies files by their paths and contents, whatever their order: "sha256:" and hexadecimal digits.
func Digest(files []File) string {
	sorted := slices.Clone(files)
	slices.SortStableFunc(sorted, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	h := sha256.New()
	for _, f := range sorted {
		sized(h, []byte(f.Path))
		sized(h, f.Content)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// sized writes a text with its length, so that two texts do not run into each other.
func sized(h interface{ Write([]byte) (int, error) }, text []byte) {
	h.Write(binary.AppendUvarint(nil, uint64(len(text)))) //nolint:errcheck // a hash does not fail
	h.Write(text)                                         //nolint:errcheck // a hash does not fail
}
