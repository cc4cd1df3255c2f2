package transport

import (
	"bytes"
	"crypto/sha256"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2/simplelru"
)

// memory keeps responses with an ETag, so that the forge need not send again what has not changed. GitHub does not count such requests:
// https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api#use-conditional-requests-if-appropriate
//
// A response is used again only for a request with the same URL and the same header, credential included, only if the forge
// says at that moment that it has not changed, and not for longer than an hour: not every forge changes its tags with everything that
// a response says.
type memory struct {
	mu   sync.Mutex
	kept *lru.LRU[memoryKey, *kept]
	size int // of all bodies, in bytes
}

// memoryKey identifies a request.
type memoryKey [sha256.Size]byte

// kept is a response with its ETag.
type kept struct {
	etag   string
	header http.Header
	body   []byte
	at     time.Time
}

const (
	// maxKept limits how many responses are kept for a forge.
	maxKept = 4096
	// maxKeptBody limits the body of a response that is kept, and maxKeptBytes all of them together, in bytes.
	maxKeptBody  = 512 << 10
	maxKeptBytes = 16 << 20
	// keptFor limits how long a response is used.
	keptFor = time.Hour
)

func newMemory() *memory {
	m := &memory{}
	m.kept, _ = lru.NewLRU(maxKept, func(_ memoryKey, k *kept) { m.size -= len(k.body) }) // the error is that of a size below 1
	return m
}

// ask makes a request conditional if there is a response to it. It returns what [memory.answer] needs; nil if the request cannot be remembered.
func (m *memory) ask(r *http.Request, op Operation, now time.Time) (key *memoryKey, known *kept) {
	if !op.Conditional || r.Method != http.MethodGet || r.Header.Get("If-None-Match") != "" || r.Header.Get("Range") != "" {
		return nil, nil
	}
	var text strings.Builder
	text.WriteString(r.URL.String() + "\n")
	_ = r.Header.Write(&text) // sorted; a builder returns no error
	sum := memoryKey(sha256.Sum256([]byte(text.String())))
	m.mu.Lock()
	known, _ = m.kept.Get(sum)
	m.mu.Unlock()
	if known != nil && now.Sub(known.at) >= keptFor {
		known = nil
	}
	if known != nil {
		r.Header.Set("If-None-Match", known.etag)
	}
	return &sum, known
}

// answer remembers a response, or replaces one that says that nothing has changed by the response that it was compared with.
func (m *memory) answer(r *http.Response, key *memoryKey, known *kept, now time.Time) (unchanged bool, err error) {
	switch {
	case key == nil:
	case known != nil && r.StatusCode == http.StatusNotModified:
		known.restore(r)
		return true, nil
	case r.StatusCode == http.StatusOK && usableTag(r.Header) && r.ContentLength <= maxKeptBody:
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return false, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		m.keep(*key, &kept{etag: r.Header.Get("ETag"), header: r.Header.Clone(), body: body, at: now})
	case known != nil:
		m.mu.Lock()
		m.kept.Remove(*key)
		m.mu.Unlock()
	}
	return false, nil
}

// usableTag reports whether a response may be kept.
func usableTag(h http.Header) bool {
	return h.Get("ETag") != "" && !strings.Contains(strings.ToLower(h.Get("Cache-Control")), "no-store") && h.Get("Vary") != "*"
}

func (m *memory) keep(key memoryKey, k *kept) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept.Remove(key)
	m.kept.Add(key, k)
	m.size += len(k.body)
	for m.size > maxKeptBytes {
		m.kept.RemoveOldest()
	}
}

// restore makes a response the one that is kept. What the response says about quotas is newer.
func (k *kept) restore(r *http.Response) {
	header := k.header.Clone()
	for name, values := range r.Header {
		if name != "Content-Length" && name != "Content-Type" {
			header[name] = values
		}
	}
	r.Header, r.StatusCode, r.Status = header, http.StatusOK, strconv.Itoa(http.StatusOK)+" "+http.StatusText(http.StatusOK)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(k.body)), int64(len(k.body))
}
