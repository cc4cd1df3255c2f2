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

// requestIDHeader has the name of a request, in its answer and in the log.
const requestIDHeader = "X-Request-Id"

// validRequestID is what a client may call its request; anything else is replaced.
var validRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

type requestIDKey struct{}

// RequestID returns the name of the request that a context belongs to; empty outside of a [Shield].
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// Shield goes around everything that answers requests: it names each one, sends the headers that keep browsers from
// helping an attacker, and survives panics.
type Shield struct {
	Next http.Handler // required
	// Log is told about panics, without what came with the request. // required
	Log *slog.Logger
	// Broken answers a request whose handling panicked before it answered; nil for a plain text.
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
	defer s.survive(started, r)
	s.Next.ServeHTTP(started, r)
}

// setSecurityHeaders sets what holds for data. Pages replace the policy by their own.
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

// survive ends a request that panicked. What was not answered yet is; what was begun is cut off, so that the client sees
// that it is not whole.
func (s *Shield) survive(w *startedWriter, r *http.Request) {
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
		http.Error(w, "something broke; the log of the server knows more about request "+RequestID(r.Context()), http.StatusInternalServerError)
	}
}

// startedWriter knows whether an answer was begun.
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

// Unwrap is for [http.ResponseController].
func (w *startedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func newRequestID() string {
	var bits [8]byte
	_, _ = rand.Read(bits[:]) // never fails
	return hex.EncodeToString(bits[:])
}
