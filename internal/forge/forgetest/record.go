package forgetest

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
)

// Recorder is a middleware that records exchanges.
type Recorder struct {
	mu        sync.Mutex
	exchanges []Exchange
}

// Wrap records the exchanges of a handler.
func (r *Recorder) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		request.Body = io.NopCloser(bytes.NewReader(body))
		e := Exchange{
			Method: request.Method, Path: request.URL.EscapedPath(), Query: request.URL.Query(), Body: body,
		}
		out := &tee{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(out, request)
		e.Status, e.Response = out.status, out.body.Bytes()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.exchanges = append(r.exchanges, e)
	})
}

// Exchanges returns all exchanges so far.
func (r *Recorder) Exchanges() []Exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.exchanges)
}

// verify fails a test for each exchange that the published description does not allow. It names each problem once.
func (r *Recorder) verify(t *testing.T, p *Published) {
	t.Helper()
	said := map[string]bool{}
	for _, e := range r.Exchanges() {
		if !p.Concerns(e.Path) {
			continue
		}
		for _, problem := range p.Check(e, false) {
			if !said[problem] {
				said[problem] = true
				t.Errorf("not as published: %s", problem)
			}
		}
	}
}

// tee keeps a copy of an answer.
type tee struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (t *tee) WriteHeader(status int) {
	t.status = status
	t.ResponseWriter.WriteHeader(status)
}

func (t *tee) Write(p []byte) (int, error) {
	t.body.Write(p)
	return t.ResponseWriter.Write(p)
}
