package local

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// Clients without a token must not fill the disk with the requests of fetches.
func TestFetchesAreBounded(t *testing.T) {
	f := serve(t, Options{PublicRead: anyClient})
	r := newRepository(t, f)
	path := f.site.URL() + "/" + r.id.Path + ".git/git-upload-pack"
	send := func(body io.Reader) *httptest.ResponseRecorder {
		t.Helper()
		request, w := httptest.NewRequest(http.MethodPost, path, body), httptest.NewRecorder()
		request.Header.Set("Content-Encoding", "gzip")
		f.Handler().ServeHTTP(w, request)
		if left, err := os.ReadDir(f.temporary()); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
		return w
	}
	packed := func(size int) io.Reader {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = io.WriteString(w, strings.Repeat("0", size))
		_ = w.Close()
		return &b
	}
	if w := send(packed(63 << 20)); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("63 MB in %d", w.Code)
	}
	f.wants.Store(maxAllWants - 1<<20) // others are being received
	if w := send(packed(2 << 20)); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("beside others: %d %v", w.Code, w.Header())
	}
	if w := send(packed(1 << 10)); w.Code == http.StatusServiceUnavailable {
		t.Errorf("a small one beside others: %d", w.Code)
	}
	if left := f.wants.Load(); left != maxAllWants-1<<20 {
		t.Errorf("%d bytes are not given back", left-(maxAllWants-1<<20))
	}
}
