package embedded

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	containers "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// blob is a row of the database.
type blob struct {
	digest string
	size   int64
}

// blobs is the store of the library.
type blobs struct{ s *Registry }

var (
	_ containers.BlobStatHandler = blobs{}
	_ containers.BlobPutHandler  = blobs{}
)

// errOtherDigest means that an upload is not what its client said.
var errOtherDigest = errors.New("the content has another digest")

// uploadKey is the key of the upload in the context of the library's request.
type uploadKey struct{}

// Stat implements [containers.BlobStatHandler].
func (b blobs) Stat(ctx context.Context, _ string, h v1.Hash) (int64, error) {
	size, ok, err := b.s.blobSize(ctx, b.s.db, h.String())
	if err == nil && !ok {
		err = containers.ErrNotFound
	}
	return size, err
}

// Get implements [containers.BlobHandler].
func (b blobs) Get(_ context.Context, _ string, h v1.Hash) (io.ReadCloser, error) {
	f, err := os.Open(b.s.blobFile(h.String()))
	if err != nil {
		b.s.report("read a blob", err)
		return nil, containers.ErrNotFound // clients see the library's errors
	}
	return f, nil
}

// Put implements [containers.BlobPutHandler]. The content is that of the upload in the context: reading it verifies the digest.
func (b blobs) Put(ctx context.Context, _ string, h v1.Hash, content io.ReadCloser) error {
	u, ok := ctx.Value(uploadKey{}).(*upload)
	if !ok {
		return errors.New("there is no upload")
	}
	if _, err := io.Copy(io.Discard, content); err != nil {
		u.failed = fmt.Errorf("%w: %w", errOtherDigest, err)
		return errOtherDigest // the library logs its own error elsewhere
	}
	_ = content.Close() // not every system moves an open file
	u.failed = b.s.keep(ctx, u, h.String())
	return u.failed
}

// blobFile returns the file of a valid digest.
func (s *Registry) blobFile(digest string) string {
	digits := strings.TrimPrefix(digest, "sha256:")
	return s.path(blobsFolder, digits[:2], digits)
}

// blobSize returns the size of a blob, and whether it is here.
func (s *Registry) blobSize(ctx context.Context, q querier, digest string) (int64, bool, error) {
	var size int64
	err := q.QueryRowContext(ctx, queries.Get("selectBlob"), digest).Scan(&size)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	// A file that was lost or cut off can be pushed again.
	info, err := os.Stat(s.blobFile(digest))
	if errors.Is(err, os.ErrNotExist) {
		return 0, false, nil
	}
	return size, err == nil && info.Size() == size, err
}

// querier is a database or a transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// keep makes an upload with a verified digest a blob.
func (s *Registry) keep(ctx context.Context, u *upload, digest string) error {
	if err := syncFile(u.file); err != nil { // before others have to wait for it
		return err
	}
	s.files.Lock()
	defer s.files.Unlock()
	if _, here, err := s.blobSize(ctx, s.db, digest); err != nil {
		return err
	} else if here { // it waits for a manifest from now on
		_, err := s.db.ExecContext(ctx, queries.Get("upsertBlob"), digest, u.size, s.o.Now().Unix())
		return err
	}
	takeBack, err := s.place(ctx, s.db, u, digest)
	if err != nil {
		return err
	}
	u.stored = true
	takeBack()
	return nil
}

// place makes the file of an upload a blob, when it is on the disk. The caller holds files, and calls takeBack at the end, which
// removes the file again unless the upload is stored.
func (s *Registry) place(ctx context.Context, q querier, u *upload, digest string) (takeBack func(), err error) {
	to := s.blobFile(digest)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return nil, err
	}
	if err := syncFile(u.file); err != nil {
		return nil, err
	}
	if err := os.Rename(u.file, to); err != nil {
		return nil, err
	}
	for _, folder := range []string{filepath.Dir(to), s.path(blobsFolder)} { // the first one may be new
		_ = syncFile(folder) // not every system can do this
	}
	var lost int64                         // what is counted for the digest already, if its file was lost
	remove := func() { _ = os.Remove(to) } // or at the next start
	switch err := q.QueryRowContext(ctx, queries.Get("selectBlob"), digest).Scan(&lost); {
	case err == nil:
		lost += fileCost
	case !errors.Is(err, sql.ErrNoRows):
		remove()
		return nil, err
	}
	if _, err := q.ExecContext(ctx, queries.Get("upsertBlob"), digest, u.size, s.o.Now().Unix()); err != nil {
		remove()
		return nil, err
	}
	return func() {
		if !u.stored {
			remove()
			return
		}
		s.release(lost)
	}, nil
}

// syncFile waits until a file or folder is on the disk.
func syncFile(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil { // a folder
		f, err = os.Open(name)
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// byteRange matches the only form of ranges that is served.
var byteRange = regexp.MustCompile(`^bytes=(\d{1,18})-(\d{0,18})$`)

// serveFile lets the library serve a blob, with a media type.
func (s *Registry) serveFile(w http.ResponseWriter, r *http.Request, repository, digest, mediaType string) error {
	size, here, err := s.blobSize(r.Context(), s.db, digest)
	if err != nil {
		return err
	}
	if !here {
		return refuse(http.StatusNotFound, "BLOB_UNKNOWN", "the repository does not have this blob")
	}
	out := r.Clone(r.Context())
	out.URL = &url.URL{Path: "/v2/" + repository + "/blobs/" + digest}
	if err := normalizeRange(out.Header, size); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Accept-Ranges", "bytes")
	s.library.ServeHTTP(w, out)
	return nil
}

// normalizeRange writes a range as the library reads it, with an end inside the blob. Other ranges are ignored, as the specification of HTTP allows.
func normalizeRange(h http.Header, size int64) error {
	m := byteRange.FindStringSubmatch(h.Get("Range"))
	h.Del("Range")
	if m == nil {
		return nil
	}
	start, _ := strconv.ParseInt(m[1], 10, 64) // at most 18 digits
	end := size - 1
	if m[2] != "" {
		last, _ := strconv.ParseInt(m[2], 10, 64)
		if last < start {
			return nil
		}
		end = min(last, end)
	}
	if start >= size {
		return refuse(http.StatusRequestedRangeNotSatisfiable, "SIZE_INVALID", "the blob has %d bytes", size)
	}
	h.Set("Range", fmt.Sprintf("bytes=%d-%d", start, end))
	return nil
}
