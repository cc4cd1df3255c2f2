package chartrepo

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/kalypso-io/kalypso/internal/chart"
)

// digestOf is the digest of an archive.
func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Unpack returns the files of a chart's archive, without the folder that they all lie in.
// Archives that unpack to more than [chart.MaxSize] bytes or [chart.MaxFiles] files are refused as soon as they do,
// and so are links, devices, and paths that leave the folder.
func Unpack(archive []byte) ([]chart.File, error) {
	zipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	// Headers count as well: there may be very many of nothing.
	bounded := &boundedReader{r: zipped, left: chart.MaxSize + chart.MaxFiles*1024}
	tape := tar.NewReader(bounded)
	var files []chart.File
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
		if size += header.Size; size > chart.MaxSize {
			return nil, fmt.Errorf("the chart unpacks to %d bytes or more, and %d are read", size, chart.MaxSize)
		}
		if len(files) == chart.MaxFiles {
			return nil, fmt.Errorf("the chart has more than %d files", chart.MaxFiles)
		}
		content, err := io.ReadAll(tape)
		if err != nil {
			return nil, fmt.Errorf("read %q: %w", name, err)
		}
		files = append(files, chart.File{Path: name, Content: content})
	}
}

// entryName is the path of a file in the chart; empty for what is none.
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

// boundedReader ends with an error when more is read than expected.
type boundedReader struct {
	r    io.Reader
	left int64
}

var errBomb = fmt.Errorf("it unpacks to more than the %d bytes that are read", int64(chart.MaxSize))

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errBomb
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
