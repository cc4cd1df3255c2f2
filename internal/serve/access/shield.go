package access

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// requestIDHeader has the ID of a request, also in the answer.
const requestIDHeader = "X-Request-Id"

// validRequestID matches IDs of clients; others are replaced.
var validRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

type requestIDKey struct{}

// RequestID returns the ID of the context's request; empty outside of a [Shield].
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// Shield wraps handlers: it adds a request ID and security headers, and recovers from panics.
type Shield struct {
	Next http.Handler // required
	// Log receives panics, without credentials. // required
	Log *slog.Logger
	// Broken answers requests whose handler panicked before it sent anything. Default: a plain text.
	Broken func(w http.ResponseWriter, r *http.Request)
}

// ServeHTTP implements [http.Handler].
func (s *Shield) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(requestIDHeader)
	if !validRequestID.MatchString(id) {
		id = newRequestID()
	}
	r = r.WithContext(context.WithValue(r.Context(), requestIDKey{}, id))
	header := w.Header()
	header.Set(requestIDHeader, id)
	setSecurityHeaders(header, r)
	started := &startedWriter{ResponseWriter: w}
	defer s.recoverPanic(started, r)
	s.Next.ServeHTTP(started, r)
}

// setSecurityHeaders sets the headers for data. Pages set their own policy.
func setSecurityHeaders(header http.Header, r *http.Request) {
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	if r.TLS != nil {
		header.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// recoverPanic answers a request whose handler panicked, or closes the connection if the answer has started.
func (s *Shield) recoverPanic(w *startedWriter, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(err)
	}
	token, _, _ := bearer(r)
	s.Log.Error("panic", "request", RequestID(r.Context()), "method", r.Method, "path", secret.Line(r.URL.Path),
		"cause", secret.Scrub(fmt.Sprint(cause), token), "stack", string(debug.Stack()))
	switch {
	case w.started:
		panic(http.ErrAbortHandler)
	case s.Broken != nil:
		s.Broken(w, r)
	default:
		http.Error(w, "internal error; see the server's log for request "+RequestID(r.Context()), http.StatusInternalServerError)
	}
}

// startedWriter records whether the answer has started.
type startedWriter struct {
	http.ResponseWriter
	started bool
}

// WriteHeader implements [http.ResponseWriter].
func (w *startedWriter) WriteHeader(status int) {
	w.started = true
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *startedWriter) Write(b []byte) (int, error) {
	w.started = true
	return w.ResponseWriter.Write(b)
}

// Unwrap supports [http.ResponseController].
func (w *startedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func newRequestID() string {
	var bits [8]byte
	_, _ = rand.Read(bits[:]) // never fails
	return hex.EncodeToString(bits[:])
}
