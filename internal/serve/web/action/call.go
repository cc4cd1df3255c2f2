package action

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// call calls the API operation on behalf of the user.
func (s *service) call(r *request, v *view) (*api.Accepted, *api.Problem, error) {
	input := map[string]string{"why": v.Reason}
	if v.Commit != "" {
		input["commit"] = v.Commit
	}
	operation := r.action
	if v.Check != nil {
		input["check"] = v.Check.Name
	}
	if operation == approveCheck {
		operation = "approve"
	}
	body, err := json.Marshal(input)
	if err != nil {
		return nil, nil, err
	}
	address := api.Root + "/environments/" + url.PathEscape(r.name) + "/" + operation + "?controlPlane=" + url.QueryEscape(v.Environment.ControlPlane)
	if v.Ring != nil {
		_, ring := decide.SplitRing(v.Place)
		address += "&ring=" + url.QueryEscape(ring)
	}
	asked, err := http.NewRequestWithContext(r.Context(), http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	// The operation sees the user and address of the form's request.
	asked.Host, asked.RemoteAddr, asked.TLS = r.Host, r.RemoteAddr, r.TLS
	asked.Header = r.Header.Clone()
	for _, name := range []string{"Accept", "Content-Length", "Content-Encoding", "If-None-Match"} {
		asked.Header.Del(name)
	}
	asked.Header.Set("Content-Type", "application/json")
	got := &recorder{header: http.Header{}, status: http.StatusOK}
	s.API.ServeHTTP(got, asked)
	if got.status < http.StatusBadRequest {
		var done api.Accepted
		err := json.Unmarshal(got.body.Bytes(), &done)
		return &done, nil, err
	}
	problem := &api.Problem{Status: got.status}
	if err := json.Unmarshal(got.body.Bytes(), problem); err != nil {
		return nil, nil, fmt.Errorf("read the API's answer: %w", err)
	}
	return nil, problem, nil
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

// problemText describes a problem to users.
func problemText(p *api.Problem) string {
	texts := []string{sentence(p.Detail), sentence(p.Next)}
	for _, part := range p.Errors {
		texts = append(texts, sentence(part.Message))
	}
	return strings.TrimSpace(strings.Join(texts, " "))
}

// sentence capitalizes a text and adds a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:] + "."
}
