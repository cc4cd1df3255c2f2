package forgetest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Fault is an answer that a forge gives instead of the right one.
type Fault struct {
	// Method selects requests by method. Empty matches all.
	Method string
	// Path selects requests whose path contains it.
	Path string
	// Times is the number of requests to affect. 0 means one, a negative number all.
	Times int
	// After runs the request first, so that only the answer is wrong.
	After bool
	// Answer writes the answer.
	Answer http.HandlerFunc // required
}

// Faults is a middleware that makes requests fail, and reads late.
type Faults struct {
	mu       sync.Mutex
	pending  []Fault
	requests []string
	late     lag
}

// Inject makes future requests fail. Faults that were injected earlier apply first.
func (f *Faults) Inject(fault Fault) {
	if fault.Times == 0 {
		fault.Times = 1
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending = append(f.pending, fault)
}

// Clear removes all faults and forgets recorded requests.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending, f.requests, f.late = nil, nil, lag{}
}

// Lag makes reads late: after each write, each read that was sent before gets the answer from before that write, for a number of times.
func (f *Faults) Lag(times int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.late = lag{times: times, known: map[string]*earlier{}}
}

// Requests returns the requests with a method since [Faults.Clear], as "METHOD /path". An empty method returns all.
func (f *Faults) Requests(method string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []string
	for _, r := range f.requests {
		if strings.HasPrefix(r, method) {
			found = append(found, r)
		}
	}
	return found
}

// Wrap puts the faults in front of a handler.
func (f *Faults) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fault, found := f.take(r)
		switch {
		case !found:
			f.serve(w, r, next)
		case fault.After:
			next.ServeHTTP(discard{http.Header{}}, r)
			fault.Answer(w, r)
		default:
			// A server notices that its client has gone only after reading the whole request.
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			fault.Answer(w, r)
		}
	})
}

// take finds the first fault that applies to a request.
func (f *Faults) take(r *http.Request) (Fault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, r.Method+" "+r.URL.Path)
	for i := range f.pending {
		p := &f.pending[i]
		if p.Times != 0 && (p.Method == "" || p.Method == r.Method) && strings.Contains(r.URL.Path, p.Path) {
			p.Times--
			return *p, true
		}
	}
	return Fault{}, false
}

// discard is a response writer that discards everything.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

// Answer returns a handler with a fixed answer. headers alternates names and values.
func Answer(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// Hang never answers.
func Hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// Drop closes the connection without an answer.
func Drop(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// TooManyRequests is the usual rate limit: 429 with Retry-After.
func TooManyRequests(wait time.Duration) Fault {
	return Fault{Answer: Answer(http.StatusTooManyRequests, `{"message":"too many requests"}`, "Retry-After", Seconds(wait))}
}

// Seconds formats a duration for a header.
func Seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

// Huge answers with a body of the given size, larger than clients accept.
func Huge(bytes int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		filler := strings.Repeat("x", 1<<16)
		_, _ = io.WriteString(w, `["`)
		for written := 0; written < bytes; written += len(filler) {
			if _, err := io.WriteString(w, filler); err != nil {
				return
			}
		}
		_, _ = fmt.Fprint(w, `"]`)
	}
}
