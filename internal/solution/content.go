package solution

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
)

// File is a file of a version.
type File struct {
	// Path is relative to the root of the content, with slashes.
	Path    string
	Content []byte
}

// The limits of a version, in bytes and numbers. A version beyond them is neither written nor read.
const (
	MaxManifest   = 1 << 20
	MaxDescriptor = 16 << 20
	// MaxLayer limits the compressed content, MaxContent the files in it.
	MaxLayer   = 64 << 20
	MaxContent = 256 << 20
	MaxFiles   = 50_000
	maxPath    = 1024
)

// ownFolder is the folder of files that are not applied.
const ownFolder = ".kalypso"

// SchemaFile is the path of the schema of the values.
const SchemaFile = ownFolder + "/configuration.schema.json"

// ContentDigest identifies files by their paths and bytes. It is the digest of a list of checksums, which other programs can make as well:
//
//	find . -type f -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum | sha256sum
//
// The files must be sorted by path.
func ContentDigest(files []File) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%x  %s\n", sha256.Sum256(f.Content), f.Path)
	}
	return digest.NewDigest(digest.SHA256, h).String()
}

func sortFiles(files []File) {
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
}

// checkFiles returns an error unless files can be the content of a version. They must be sorted.
func checkFiles(files []File) (size int64, err error) {
	if len(files) > MaxFiles {
		return 0, tooManyFiles()
	}
	known := make(map[string]bool, len(files))
	for _, f := range files {
		if err := checkPath(f.Path); err != nil {
			return 0, err
		}
		if known[f.Path] {
			return 0, fmt.Errorf("the file %q is there twice", f.Path)
		}
		known[f.Path] = true
		size += int64(len(f.Content))
	}
	for _, f := range files {
		for folder := path.Dir(f.Path); folder != "."; folder = path.Dir(folder) {
			if known[folder] {
				return 0, fmt.Errorf("%q is a file and a folder", folder)
			}
		}
	}
	if size > MaxContent {
		return 0, tooLarge()
	}
	return size, nil
}

func tooManyFiles() error { return fmt.Errorf("it has more than %d files", MaxFiles) }
func tooLarge() error     { return fmt.Errorf("its files have more than %d MiB", MaxContent>>20) }

// checkPath returns an error for a path that is not clean, leaves the folder, or has characters that are not printed.
func checkPath(name string) error {
	if !fs.ValidPath(name) || name == "." || len(name) > maxPath || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }) {
		return fmt.Errorf("%.100q is not the path of a file in a folder", name)
	}
	return nil
}

// pack returns files as a compressed tar file. Files and folders belong to root, and have no time, so that only paths and bytes count.
func pack(files []File) ([]byte, error) {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	tape := tar.NewWriter(zipped)
	folders := map[string]bool{".": true}
	for _, f := range files {
		if err := packFolders(tape, path.Dir(f.Path), folders); err != nil {
			return nil, err
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: f.Path, Mode: 0o644, Size: int64(len(f.Content)), ModTime: time.Unix(0, 0)}
		if err := tape.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := tape.Write(f.Content); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(tape.Close(), zipped.Close()); err != nil {
		return nil, err
	}
	if out.Len() > MaxLayer {
		return nil, fmt.Errorf("its files have more than %d MiB when compressed", MaxLayer>>20)
	}
	return out.Bytes(), nil
}

// packFolders adds a folder and those above it, unless they were added before.
func packFolders(tape *tar.Writer, folder string, added map[string]bool) error {
	if added[folder] {
		return nil
	}
	if err := packFolders(tape, path.Dir(folder), added); err != nil {
		return err
	}
	added[folder] = true
	return tape.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder + "/", Mode: 0o755, ModTime: time.Unix(0, 0)})
}

// unpack returns the files of a compressed tar file, sorted. It refuses everything but plain files and folders, and stops at the limits.
func unpack(layer []byte) ([]File, error) {
	compressed := bytes.NewReader(layer)
	zipped, err := gzip.NewReader(compressed)
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	zipped.Multistream(false)
	// Headers count as well, so that no number of folders is free.
	bounded := &io.LimitedReader{R: zipped, N: MaxContent + 2*MaxFiles*1024}
	tape := tar.NewReader(bounded)
	var files []File
	left, folders := int64(MaxContent), 0
	for {
		header, err := tape.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the tar file: %w", err)
		}
		switch header.Typeflag {
		case tar.TypeDir:
			if folders++; folders > MaxFiles {
				return nil, tooManyFiles()
			}
			if err := checkPath(strings.TrimSuffix(header.Name, "/")); err != nil {
				return nil, err
			}
			continue
		case tar.TypeReg:
		default:
			return nil, fmt.Errorf("%.100q is neither a file nor a folder", header.Name)
		}
		if len(files) == MaxFiles {
			return nil, tooManyFiles()
		}
		if header.Size > left {
			return nil, tooLarge()
		}
		content, err := io.ReadAll(tape)
		if err != nil {
			return nil, fmt.Errorf("read the tar file: %w", err)
		}
		if left -= int64(len(content)); left < 0 {
			return nil, tooLarge()
		}
		files = append(files, File{Path: header.Name, Content: content})
	}
	if _, err := io.Copy(io.Discard, bounded); err != nil { // the checksum is at the end
		return nil, fmt.Errorf("decompress: %w", err)
	}
	if compressed.Len() > 0 || bounded.N == 0 {
		return nil, errors.New("there is something behind the tar file")
	}
	sortFiles(files)
	_, err = checkFiles(files)
	return files, err
}
