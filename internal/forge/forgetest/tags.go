package forgetest

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
)

// tags is a middleware that gives responses an ETag, and answers 304 to a client that has the response already, as GitHub does.
type tags struct{ unchanged atomic.Int64 }

func (t *tags) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			next.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		if answer.Code != http.StatusOK {
			w.WriteHeader(answer.Code)
			_, _ = w.Write(answer.Body.Bytes())
			return
		}
		sum := sha256.Sum256(answer.Body.Bytes())
		tag := `W/"` + hex.EncodeToString(sum[:]) + `"`
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			t.unchanged.Add(1)
			w.Header().Del("Content-Type")
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write(answer.Body.Bytes())
	})
}

// Unchanged returns how many responses said that nothing has changed. GitHub does not count such requests.
func (s *Server) Unchanged() int { return int(s.tags.unchanged.Load()) }
