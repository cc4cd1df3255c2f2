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

// The limits of what is rendered.
const (
	// MaxFiles is the maximum number of files of a chart or kustomization, including those of its dependencies.
	MaxFiles = 20_000
	// MaxSize is the maximum total size of these files, in bytes.
	MaxSize = 20 << 20
)

// KustomizationFiles are the names of a file that makes its folder a kustomization, in the order in which kustomize looks for them.
var KustomizationFiles = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// File is a file of a chart, a kustomization or a folder of manifests.
type File struct {
	// Path is relative to the chart, or to the root of the repository, with forward slashes.
	Path string `json:"path"`
	// Content is the file's content. References in it are not followed.
	Content []byte `json:"content"`
	// Symlink marks a symbolic link, which is refused.
	Symlink bool `json:"symlink,omitempty"`
}

// Checked returns files sorted by path, or an error if there are too many, if they are too large, or if a path is invalid.
func Checked(files []File) ([]File, error) {
	if len(files) > MaxFiles {
		return nil, fmt.Errorf("there are %d files, more than the %d that are read", len(files), MaxFiles)
	}
	sorted := slices.Clone(files)
	slices.SortStableFunc(sorted, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	size := 0
	for i, f := range sorted {
		if err := CheckPath(f.Path); err != nil {
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

// CheckPath returns an error for paths that are not plain, relative, and below the root.
func CheckPath(p string) error {
	odd := func(r rune) bool { return r == '\\' || unicode.IsControl(r) }
	switch {
	case p == "" || !utf8.ValidString(p) || strings.ContainsFunc(p, odd):
		return fmt.Errorf("%q is not the path of a file", p)
	case path.IsAbs(p) || path.Clean(p) != p || p == ".." || strings.HasPrefix(p, "../"):
		return fmt.Errorf("%q leaves the folder it belongs to, or is not written plainly", p)
	}
	return nil
}

// Digest identifies files by their paths and contents, regardless of their order: "sha256:" and hexadecimal digits.
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

// sized writes a text prefixed with its length, so that consecutive texts cannot be confused.
func sized(h interface{ Write([]byte) (int, error) }, text []byte) {
	h.Write(binary.AppendUvarint(nil, uint64(len(text)))) //nolint:errcheck // a hash never fails
	h.Write(text)                                         //nolint:errcheck // a hash never fails
}
