package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// Unpack returns the files of a chart's archive, without their common folder.
// It refuses archives that unpack to more than [MaxSize] bytes or [MaxFiles] files,
// links, devices, and paths that leave the folder.
func Unpack(archive []byte) ([]File, error) {
	zipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	// Headers count as well: an archive can have many empty files.
	bounded := &boundedReader{r: zipped, left: MaxSize + MaxFiles*1024}
	tape := tar.NewReader(bounded)
	var files []File
	size := int64(0)
	for {
		header, err := tape.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read archive: %w", err)
		}
		name, err := entryName(header)
		if err != nil {
			return nil, err
		}
		if name == "" {
			continue
		}
		if size += header.Size; size > MaxSize {
			return nil, fmt.Errorf("the chart unpacks to %d bytes or more, and %d are read", size, MaxSize)
		}
		if len(files) == MaxFiles {
			return nil, fmt.Errorf("the chart has more than %d files", MaxFiles)
		}
		content, err := io.ReadAll(tape)
		if err != nil {
			return nil, fmt.Errorf("read %q: %w", name, err)
		}
		files = append(files, File{Path: name, Content: content})
	}
}

// entryName returns the path of a file in the chart, or "" for other entries.
func entryName(h *tar.Header) (string, error) {
	switch h.Typeflag {
	case tar.TypeReg:
	case tar.TypeDir, tar.TypeXGlobalHeader, tar.TypeXHeader:
		return "", nil
	case tar.TypeSymlink, tar.TypeLink:
		return "", fmt.Errorf("%.100q is a link; a chart has files only", h.Name)
	default:
		return "", fmt.Errorf("%.100q is neither a file nor a folder", h.Name)
	}
	name := strings.TrimPrefix(h.Name, "./")
	_, below, found := strings.Cut(name, "/")
	if !found || path.IsAbs(name) || path.Clean(name) != name || strings.HasPrefix(name, "../") || below == "" || strings.Contains(name, "\\") {
		return "", fmt.Errorf("%.100q is not the path of a file in a chart's folder", h.Name)
	}
	return below, nil
}

// boundedReader returns an error after a number of bytes.
type boundedReader struct {
	r    io.Reader
	left int64
}

var errBomb = fmt.Errorf("it unpacks to more than the %d bytes that are read", int64(MaxSize))

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errBomb
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
