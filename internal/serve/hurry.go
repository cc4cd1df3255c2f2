package serve

import (
	"io"
	"net/http"
	"time"
)

// What a client may take its time for, so that nobody keeps connections and what belongs to them by doing nothing.
// Handlers that expect more, such as those of git, set deadlines of their own.
const (
	// sending is how long it may send what a request contains.
	sending = 30 * time.Second
	// fetching is how long an answer may take altogether.
	fetching = 5 * time.Minute
)

// hurried goes around everything: what a request contains has to come within a time. That holds also where nobody reads it,
// since the protocol has it read before the next request.
func hurried(next http.Handler, within time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if r.Body != nil && r.Body != http.NoBody && control.SetReadDeadline(time.Now().Add(within)) == nil {
			r = r.WithContext(r.Context())
			r.Body = &arriving{r.Body, control}
		}
		next.ServeHTTP(w, r)
	})
}

// arriving is what a request contains. Once all of it is there, the client may wait for the answer as long as that takes.
type arriving struct {
	io.ReadCloser
	control *http.ResponseController
}

// Read implements [io.Reader].
func (a *arriving) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err == io.EOF {
		_ = a.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
