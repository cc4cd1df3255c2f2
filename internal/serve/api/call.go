package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
)

// Call calls an operation in this process on behalf of the user of a request, so that a page decides, records and answers like the operation.
// The address begins below [Root]. body is sent as JSON; nil asks a query. answer gets the JSON of a successful answer. The error is a
// [*Problem] if the operation refuses.
func Call(operations http.Handler, r *http.Request, address string, body, answer any) error {
	method, text := http.MethodGet, []byte(nil)
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
		method = http.MethodPost
	}
	asked, err := http.NewRequestWithContext(r.Context(), method, Root+address, bytes.NewReader(text))
	if err != nil {
		return err
	}
	asked.Host, asked.RemoteAddr, asked.TLS = r.Host, r.RemoteAddr, r.TLS
	asked.Header = r.Header.Clone()
	for _, name := range []string{"Accept", "Accept-Encoding", "Content-Type", "Content-Length", "Content-Encoding", "If-None-Match"} {
		asked.Header.Del(name)
	}
	if body != nil {
		asked.Header.Set("Content-Type", "application/json")
	}
	got := &recorder{header: http.Header{}, status: http.StatusOK}
	operations.ServeHTTP(got, asked)
	if got.status < http.StatusBadRequest {
		return json.Unmarshal(got.body.Bytes(), answer)
	}
	problem := &Problem{Status: got.status}
	if err := json.Unmarshal(got.body.Bytes(), problem); err != nil {
		return fmt.Errorf("read the API's answer: %w", err)
	}
	return problem
}

// recorder records a response.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements [http.ResponseWriter].
func (w *recorder) Header() http.Header { return w.header }

// Write implements [http.ResponseWriter].
func (w *recorder) Write(b []byte) (int, error) { return w.body.Write(b) }

// WriteHeader implements [http.ResponseWriter].
func (w *recorder) WriteHeader(status int) { w.status = status }
