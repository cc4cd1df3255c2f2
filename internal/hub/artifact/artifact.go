// Package artifact packs a folder of manifests into an archive that has the same bytes on every server, and reads it again.
//
// An archive is a tar in gzip, with regular files only, sorted by path, without times and owners. A reader does not trust it:
// paths that lead out of the folder, links, and content that is larger than the limits are errors.
package artifact

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// Limits of an archive.
const (
	MaxFiles = 2000
	// MaxContent is the size of all files together.
	MaxContent = 16 << 20
	maxPath    = 1024
)

// File is a file of a folder.
type File struct {
	// Path is relative to the folder, with forward slashes.
	Path    string
	Content []byte
}

// Pack returns the archive of files, and its digest.
func Pack(files []File) (archive []byte, digest string, err error) {
	files = slices.SortedFunc(slices.Values(files), func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, "", err
	}
	t := tar.NewWriter(z)
	total := 0
	for i, f := range files {
		if err := checkPath(f.Path); err != nil {
			return nil, "", err
		}
		if i > 0 && files[i-1].Path == f.Path {
			return nil, "", fmt.Errorf("%q is there twice", f.Path)
		}
		if total += len(f.Content); i >= MaxFiles || total > MaxContent {
			return nil, "", tooLarge()
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: f.Path, Mode: 0o644, Size: int64(len(f.Content)), Format: tar.FormatPAX}
		if err := t.WriteHeader(header); err != nil {
			return nil, "", fmt.Errorf("pack %q: %w", f.Path, err)
		}
		if _, err := t.Write(f.Content); err != nil {
			return nil, "", fmt.Errorf("pack %q: %w", f.Path, err)
		}
	}
	if err := errors.Join(t.Close(), z.Close()); err != nil {
		return nil, "", err
	}
	if b.Len() > hub.MaxDeliveryBytes {
		return nil, "", tooLarge()
	}
	return b.Bytes(), Digest(b.Bytes()), nil
}

// Digest returns the SHA-256 of an archive, in hexadecimal.
func Digest(archive []byte) string {
	sum := sha256.Sum256(archive)
	return hex.EncodeToString(sum[:])
}

// Unpack returns the files of an archive.
func Unpack(archive []byte) ([]File, error) {
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, fmt.Errorf("read the archive: %w", err)
	}
	// The limit holds for everything that is decompressed, headers included.
	limited := &io.LimitedReader{R: z, N: MaxContent + MaxFiles*(2*maxPath+2048)}
	t := tar.NewReader(limited)
	var files []File
	total := int64(0)
	for {
		header, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			return files, nil
		case limited.N <= 0:
			return nil, tooLarge()
		case err != nil:
			return nil, fmt.Errorf("read the archive: %w", err)
		case header.Typeflag != tar.TypeReg:
			return nil, fmt.Errorf("%.100q is not a regular file", header.Name)
		}
		if err := checkPath(header.Name); err != nil {
			return nil, err
		}
		if total += header.Size; len(files) == MaxFiles || total > MaxContent {
			return nil, tooLarge()
		}
		content, err := io.ReadAll(t)
		if err != nil {
			return nil, fmt.Errorf("read %q: %w", header.Name, err)
		}
		files = append(files, File{Path: header.Name, Content: content})
	}
}

func tooLarge() error {
	return fmt.Errorf("it is too large: at most %d files with %d MiB, and %d MiB compressed", MaxFiles, MaxContent>>20, hub.MaxDeliveryBytes>>20)
}

func checkPath(name string) error {
	if name == "" || name == "." || len(name) > maxPath || !utf8.ValidString(name) || path.Clean(name) != name || path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") ||
		strings.ContainsAny(name, "\\\x00") {
		return fmt.Errorf("%.100q is not a path in a folder", name)
	}
	return nil
}
