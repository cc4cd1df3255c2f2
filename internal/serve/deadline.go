package serve

import (
	"io"
	"net/http"
	"time"
)

// Time limits for clients. Handlers that need more time, such as those for Git, set their own deadlines.
const (
	// readTimeout limits the time to send a request's body.
	readTimeout = 30 * time.Second
	// writeTimeout limits the time to receive an answer.
	writeTimeout = 5 * time.Minute
)

// withReadTimeout limits the time to send a request's body, even if next does not read it, because the HTTP server then reads it
// before the next request.
func withReadTimeout(next http.Handler, within time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if r.Body != nil && r.Body != http.NoBody && control.SetReadDeadline(time.Now().Add(within)) == nil {
			r = r.WithContext(r.Context())
			r.Body = &timedBody{r.Body, control}
		}
		next.ServeHTTP(w, r)
	})
}

// timedBody removes the deadline at the end of the body: the handler may take longer.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
}

// Read implements [io.Reader].
func (a *timedBody) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err == io.EOF {
		_ = a.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
