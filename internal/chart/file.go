package chart

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
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
