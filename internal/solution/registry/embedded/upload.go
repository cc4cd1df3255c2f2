package embedded

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/solution"
)

// The limits of what is received.
const (
	// MaxBlob is the size of a blob, in bytes.
	MaxBlob = solution.MaxLayer
	// MaxUploads is how many uploads there can be at the same time, of all clients and of one.
	MaxUploads          = 64
	MaxUploadsPerClient = 16

	// uploadIdle is how long an upload waits for its next part.
	uploadIdle = 15 * time.Minute
	// requestTime limits one request.
	requestTime = 10 * time.Minute
)

// upload is content that is being received into a file.
type upload struct {
	registry               *Registry
	id, repository, client string
	file                   string
	// busy is held by the one request that works on it.
	busy sync.Mutex
	size int64
	// cost is what is reserved besides its content.
	cost int64
	// stored is set when the file has become a blob.
	stored bool
	// failed is why it did not become a blob.
	failed error

	// last is when a request last used it; guarded by the registry's mu.
	last time.Time
}

// begin opens an upload, for which space is reserved.
func (s *Registry) begin(repository, client string) (*upload, error) {
	u, err := s.beginEmpty(repository, client)
	if err != nil {
		return nil, err
	}
	if err := u.claim(); err != nil {
		u.end()
		return nil, err
	}
	return u, nil
}

// claim reserves the space of the file.
func (u *upload) claim() error {
	if err := u.registry.reserve(fileCost); err != nil {
		return err
	}
	u.cost = fileCost
	return nil
}

// beginEmpty opens an upload for which nothing is reserved: a full registry still accepts what it has already.
func (s *Registry) beginEmpty(repository, client string) (*upload, error) {
	s.expire()
	u := &upload{registry: s, id: rand.Text(), repository: repository, client: client, last: s.o.Now()}
	u.file = s.path(uploadsFolder, u.id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.uploads) >= MaxUploads || s.pushes[client] >= MaxUploadsPerClient {
		return nil, &Refusal{
			Status: http.StatusTooManyRequests, Code: "TOOMANYREQUESTS", Message: "too many uploads at the same time: wait until others have ended", RetryAfter: 10 * time.Second,
		}
	}
	s.uploads[u.id] = u
	s.pushes[client]++
	return u, nil
}

// use returns an upload for one request, which calls done at its end.
func (s *Registry) use(id, repository, client string) (u *upload, done func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, ok := s.uploads[id]
	if !ok || u.repository != repository || u.client != client {
		return nil, nil, refuse(http.StatusNotFound, "BLOB_UPLOAD_UNKNOWN", "this upload does not exist: it may have expired")
	}
	if !u.busy.TryLock() {
		return nil, nil, refuse(http.StatusConflict, "BLOB_UPLOAD_INVALID", "another request works on this upload")
	}
	return u, func() {
		s.mu.Lock()
		u.last = s.o.Now()
		s.mu.Unlock()
		u.busy.Unlock()
	}, nil
}

// expire ends uploads that no request has used for some time.
func (s *Registry) expire() {
	var old []*upload
	s.mu.Lock()
	for _, u := range s.uploads {
		if s.o.Now().Sub(u.last) > uploadIdle && u.busy.TryLock() {
			old = append(old, u)
		}
	}
	s.mu.Unlock()
	for _, u := range old {
		u.end()
		u.busy.Unlock()
	}
}

// end forgets an upload. What did not become a blob is removed. The caller holds busy, or is the only one that knows it.
func (u *upload) end() {
	s := u.registry
	if !u.stored {
		if err := os.Remove(u.file); err != nil && !errors.Is(err, os.ErrNotExist) {
			s.o.Log.Error("remove an upload", "error", err)
		}
		s.release(u.size + u.cost)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.uploads, u.id)
	if s.pushes[u.client]--; s.pushes[u.client] <= 0 {
		delete(s.pushes, u.client)
	}
}

// receive appends a body to the upload. After an error, the upload is as before.
func (u *upload) receive(content io.Reader, length, limit int64) error {
	tooLarge := refuse(http.StatusRequestEntityTooLarge, "SIZE_INVALID", "it has more than %d bytes", limit)
	if length > limit-u.size {
		return tooLarge
	}
	c := &counter{u: u, limit: limit, tooLarge: tooLarge, granted: max(length, 0)}
	// What a client announces is reserved at once, so that clients do not fill the registry with parts of which none gets complete.
	if err := u.registry.reserve(c.granted); err != nil {
		return err
	}
	defer func() { u.registry.release(c.granted) }()
	f, err := os.OpenFile(u.file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	before := u.size
	c.f = f
	_, err = io.Copy(c, content)
	if err != nil {
		err = errors.Join(err, f.Truncate(before))
		u.registry.release(u.size - before)
		u.size = before
	}
	return errors.Join(err, f.Close())
}

// body is the body of a request, whose errors are the client's.
type body struct{ io.Reader }

// Read implements [io.Reader].
func (b body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = refuse(http.StatusBadRequest, "BLOB_UPLOAD_INVALID", "the content ended early, or took longer than %s", requestTime)
	}
	return n, err
}

// counter reserves what it writes.
type counter struct {
	u        *upload
	f        *os.File
	limit    int64
	tooLarge error
	// granted is what is reserved already.
	granted int64
}

// Write implements [io.Writer].
func (c *counter) Write(p []byte) (int, error) {
	n := int64(len(p))
	if c.u.size+n > c.limit {
		return 0, c.tooLarge
	}
	given := min(n, c.granted)
	if err := c.u.registry.reserve(n - given); err != nil {
		return 0, err
	}
	c.granted -= given
	c.u.size += n
	return c.f.Write(p)
}

// startUpload serves POST: it opens an upload, which is complete if the request has its digest and content.
func (s *Registry) startUpload(ctx context.Context, w http.ResponseWriter, r *http.Request, q request) error {
	query := r.URL.Query()
	for _, digest := range []string{query.Get("mount"), query.Get("digest")} {
		// All blobs are for all repositories: who can read one of them can read all.
		if here, err := s.await(ctx, digest); err != nil {
			return err
		} else if here {
			created(w, q.repository, "blobs", digest)
			return nil
		}
	}
	u, err := s.begin(q.repository, q.client)
	if err != nil {
		return err
	}
	if digest := query.Get("digest"); digest != "" {
		defer u.end()
		return s.finish(ctx, w, r, u, digest)
	}
	u.answer(w, http.StatusAccepted)
	return nil
}

// await reports whether a blob is here. If it is, it waits for a manifest from now on.
func (s *Registry) await(ctx context.Context, digest string) (here bool, err error) {
	if !digestForm.MatchString(digest) {
		return false, nil
	}
	s.files.Lock()
	defer s.files.Unlock()
	size, here, err := s.blobSize(ctx, s.db, digest)
	if err != nil || !here {
		return false, err
	}
	_, err = s.db.ExecContext(ctx, queries.Get("upsertBlob"), digest, size, s.o.Now().Unix())
	return err == nil, err
}

// continueUpload serves the requests of an open upload.
func (s *Registry) continueUpload(ctx context.Context, w http.ResponseWriter, r *http.Request, q request) error {
	u, done, err := s.use(q.reference, q.repository, q.client)
	if err != nil {
		return err
	}
	defer done()
	switch r.Method {
	case http.MethodGet:
		u.answer(w, http.StatusNoContent)
	case http.MethodDelete:
		u.end()
		w.WriteHeader(http.StatusNoContent)
	case http.MethodPatch:
		if err := u.follows(r); err != nil {
			return err
		}
		if err := u.receive(body{r.Body}, r.ContentLength, MaxBlob); err != nil {
			return err
		}
		u.answer(w, http.StatusAccepted)
	case http.MethodPut:
		if err := u.follows(r); err != nil {
			return err
		}
		defer u.end()
		return s.finish(ctx, w, r, u, r.URL.Query().Get("digest"))
	}
	return nil
}

// contentRange is the form of a Content-Range: that of the specification of registries or, with the unit and the size, of HTTP.
var contentRange = regexp.MustCompile(`^(?:bytes )?(\d{1,18})-(\d{1,18})(?:/(?:\d+|\*))?$`)

// follows checks that the content of a request begins where the upload ends, and has the size that its range says.
func (u *upload) follows(r *http.Request) error {
	stated := r.Header.Get("Content-Range")
	if stated == "" || r.ContentLength == 0 {
		return nil
	}
	m := contentRange.FindStringSubmatch(stated)
	if m == nil {
		return refuse(http.StatusBadRequest, "BLOB_UPLOAD_INVALID", "the Content-Range is not FIRST-LAST")
	}
	first, _ := strconv.ParseInt(m[1], 10, 64) // at most 18 digits
	last, _ := strconv.ParseInt(m[2], 10, 64)
	switch {
	case first != u.size:
		return refuse(http.StatusRequestedRangeNotSatisfiable, "BLOB_UPLOAD_INVALID", "the upload has %d bytes: go on there", u.size)
	case r.ContentLength < 0:
		return refuse(http.StatusLengthRequired, "SIZE_INVALID", "a Content-Range needs a Content-Length")
	case last-first+1 != r.ContentLength:
		return refuse(http.StatusBadRequest, "SIZE_INVALID", "the Content-Range has %d bytes, and the content %d", max(last-first+1, 0), r.ContentLength)
	}
	return nil
}

// answer says where the next part goes, and what the upload has.
func (u *upload) answer(w http.ResponseWriter, status int) {
	h := w.Header()
	h.Set("Location", "/v2/"+u.repository+"/blobs/uploads/"+u.id)
	h.Set("Docker-Upload-UUID", u.id)
	h.Set("Range", fmt.Sprintf("0-%d", max(u.size-1, 0)))
	w.WriteHeader(status)
}

// finish receives the last part of an upload, and makes it a blob if it has the digest. The library verifies it.
func (s *Registry) finish(ctx context.Context, w http.ResponseWriter, r *http.Request, u *upload, digest string) error {
	if !digestForm.MatchString(digest) {
		return refuse(http.StatusBadRequest, "DIGEST_INVALID", "want the digest, sha256 with 64 digits")
	}
	if err := u.receive(body{r.Body}, r.ContentLength, MaxBlob); err != nil {
		return err
	}
	f, err := os.Open(u.file)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it is only read
	verified := (&http.Request{
		Method: http.MethodPost, URL: &url.URL{Path: "/v2/" + u.repository + "/blobs/uploads/", RawQuery: url.Values{"digest": {digest}}.Encode()},
		Header: http.Header{}, Body: f, ContentLength: u.size,
	}).WithContext(context.WithValue(ctx, uploadKey{}, u))
	answer := &statusOnly{header: http.Header{}}
	s.library.ServeHTTP(answer, verified)
	switch {
	case errors.Is(u.failed, errOtherDigest):
		return refuse(http.StatusBadRequest, "DIGEST_INVALID", "the content does not have the digest %s", digest)
	case u.failed != nil:
		return u.failed
	case answer.status != http.StatusCreated:
		return fmt.Errorf("verify an upload: the library answered %d", answer.status)
	}
	created(w, u.repository, "blobs", digest)
	return nil
}

// created answers that something is stored.
func created(w http.ResponseWriter, repository, kind, digest string) {
	h := w.Header()
	h.Set("Location", "/v2/"+repository+"/"+kind+"/"+digest)
	h.Set("Docker-Content-Digest", digest)
	h.Set("Content-Length", "0")
	w.WriteHeader(http.StatusCreated)
}

// statusOnly is the answer of the library to a request of ours.
type statusOnly struct {
	header http.Header
	status int
}

// Header implements [http.ResponseWriter].
func (s *statusOnly) Header() http.Header { return s.header }

// WriteHeader implements [http.ResponseWriter].
func (s *statusOnly) WriteHeader(status int) { s.status = status }

// Write implements [http.ResponseWriter].
func (s *statusOnly) Write(b []byte) (int, error) { return len(b), nil }
