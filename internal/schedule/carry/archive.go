package carry

import (
	"archive/tar"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// manifestName is the name of the first file of a bundle.
const manifestName = "bundle.json"

// Write writes a bundle with the files of a folder. Equal manifests, files and keys write equal bytes.
func Write(w io.Writer, m *Manifest, dir string, key ed25519.PrivateKey) error {
	var err error
	if m.Files, err = listFiles(dir); err != nil {
		return fmt.Errorf("list the files of the bundle: %w", err)
	}
	if err := m.check(); err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	envelope, err := m.seal(key)
	if err != nil {
		return err
	}
	out := tar.NewWriter(w)
	if err := out.WriteHeader(header(manifestName, int64(len(envelope)))); err != nil {
		return err
	}
	if _, err := out.Write(envelope); err != nil {
		return err
	}
	for _, f := range m.Files {
		if err := writeFile(out, dir, f); err != nil {
			return fmt.Errorf("write %q to the bundle: %w", f.Name, err)
		}
	}
	return out.Close()
}

func header(name string, size int64) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, Format: tar.FormatUSTAR}
}

func writeFile(out *tar.Writer, dir string, f File) error {
	in, err := os.Open(filepath.Join(dir, filepath.FromSlash(f.Name)))
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // it was only read
	if err := out.WriteHeader(header(f.Name, f.Size)); err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return err
}

// listFiles returns the files of a folder, sorted by name.
func listFiles(dir string) ([]File, error) {
	var files []File
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, at)
		if err != nil {
			return err
		}
		f := File{Name: filepath.ToSlash(name)}
		if !fileName.MatchString(f.Name) {
			return nil // what the layout needs while it is written
		}
		in, err := os.Open(at)
		if err != nil {
			return err
		}
		defer in.Close() //nolint:errcheck // it was only read
		sum := sha256.New()
		if f.Size, err = io.Copy(sum, in); err != nil {
			return err
		}
		f.SHA256 = hex.EncodeToString(sum.Sum(nil))
		files = append(files, f)
		return nil
	})
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return files, err
}

// ErrInvalid means that a file is not a bundle of the sender, or not unchanged.
var ErrInvalid = errors.New("the bundle cannot be used")

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalid, fmt.Errorf(format, args...))
}

// Archive is a bundle whose signature and files were verified.
type Archive struct {
	Manifest *Manifest

	envelope []byte
	r        io.ReaderAt
	offsets  map[string]int64
	sizes    map[string]int64
}

// Open verifies a bundle: it must be signed with one of the keys, and have exactly the files of its manifest, in order and unchanged.
// Otherwise the error is [ErrInvalid], or that of reading. The archive reads from r as long as it is used.
func Open(r io.ReaderAt, size int64, keys ...ed25519.PublicKey) (*Archive, error) {
	in := &counter{r: io.NewSectionReader(r, 0, size)}
	tape := tar.NewReader(in)
	h, err := next(tape)
	if err != nil {
		return nil, err
	}
	if h.Name != manifestName || h.Size > maxManifest {
		return nil, invalid("it does not begin with %s of at most %d MiB", manifestName, maxManifest>>20)
	}
	a := &Archive{r: r, offsets: map[string]int64{}, sizes: map[string]int64{}}
	if a.envelope, err = io.ReadAll(tape); err != nil {
		return nil, readError(err)
	}
	a.Manifest, err = unseal(a.envelope, keys)
	if errors.Is(err, hub.ErrUnknownKey) {
		return nil, invalid("its manifest is not signed with the sender's key, or was changed")
	}
	if err != nil {
		return nil, invalid("%w", err)
	}
	for _, f := range a.Manifest.Files {
		if err := a.verify(tape, in, f); err != nil {
			return nil, err
		}
	}
	if h, err := tape.Next(); err == nil {
		return nil, invalid("it has a file that is not in its manifest: %.200q", h.Name)
	} else if !errors.Is(err, io.EOF) {
		return nil, readError(err)
	}
	return a, zeros(in)
}

// next returns the header of the next file. Nothing but plain files in the plainest format is accepted.
func next(tape *tar.Reader) (*tar.Header, error) {
	h, err := tape.Next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, invalid("it is truncated")
	case err != nil:
		return nil, readError(err)
	case h.Typeflag != tar.TypeReg || len(h.PAXRecords) > 0 || h.Format&tar.FormatUSTAR == 0:
		return nil, invalid("%.200q is not a plain file", h.Name)
	}
	return h, nil
}

// verify reads a file, which must be the next one.
func (a *Archive) verify(tape *tar.Reader, in *counter, f File) error {
	h, err := next(tape)
	if err != nil {
		return err
	}
	if h.Name != f.Name || h.Size != f.Size {
		return invalid("it has %.200q with %d bytes, and %q with %d bytes was announced", h.Name, h.Size, f.Name, f.Size)
	}
	a.offsets[f.Name], a.sizes[f.Name] = in.count, f.Size
	sum := sha256.New()
	if _, err := io.Copy(sum, tape); err != nil {
		return readError(err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != f.SHA256 {
		return invalid("%q was changed", f.Name)
	}
	return nil
}

// readError tells a damaged file from one that cannot be read.
func readError(err error) error {
	var path *fs.PathError
	switch {
	case errors.As(err, &path):
		return fmt.Errorf("read the bundle: %w", err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return invalid("it is truncated")
	}
	return invalid("%w", err)
}

// zeros checks that nothing follows the last file.
func zeros(in io.Reader) error {
	buffer := make([]byte, 64<<10)
	for {
		n, err := in.Read(buffer)
		for _, b := range buffer[:n] {
			if b != 0 {
				return invalid("something follows its last file")
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return readError(err)
		}
	}
}

// counter counts the bytes that were read. It hides that the file can seek, so that the tar reader reads everything once.
type counter struct {
	r     io.Reader
	count int64
}

// Read implements [io.Reader].
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.count += int64(n)
	return n, err
}

// file returns the content of a file of the bundle.
func (a *Archive) file(name string) (io.Reader, int64, error) {
	offset, ok := a.offsets[name]
	if !ok {
		return nil, 0, fmt.Errorf("%q: %w", name, fs.ErrNotExist)
	}
	return io.NewSectionReader(a.r, offset, a.sizes[name]), a.sizes[name], nil
}

// Open returns the content with a digest. It implements [Blobs].
func (a *Archive) Open(digest string) (io.ReadCloser, int64, error) {
	content, size, err := a.file("blobs/" + strings.ReplaceAll(digest, ":", "/"))
	return io.NopCloser(content), size, err
}
