package api

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// Problem is the body of every error, as application/problem+json (RFC 9457).
type Problem struct {
	// Type is always about:blank: Status has the kind of error.
	Type  string `json:"type"`
	Title string `json:"title"`
	// Status is the HTTP status.
	Status int `json:"status"`
	// Detail is the error.
	Detail string `json:"detail,omitempty"`
	// Next is what to do about it.
	Next string `json:"next,omitempty"`
	// Instance is the ID of the request, also in the server's log.
	Instance string `json:"instance,omitempty"`
	// Errors are the invalid parts of the request.
	Errors []ProblemPart `json:"errors,omitempty"`

	retryAfter time.Duration
	// shown is true if the request had a credential that was rejected.
	shown bool
}

// ProblemPart is an error in a part of a request.
type ProblemPart struct {
	Message string `json:"message"`
	// Location is the part: "body.memberships[0].environment", "query.limit", "path.name".
	Location string `json:"location,omitempty"`
}

// Error implements error.
func (p *Problem) Error() string { return p.Detail }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders implements huma.HeadersError.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int((p.retryAfter+time.Second-1)/time.Second)))
	}
	if p.Status == http.StatusUnauthorized {
		challenge := `Bearer realm="kalypso"`
		if p.shown {
			challenge += `, error="invalid_token"`
		}
		h.Set("WWW-Authenticate", challenge)
	}
	h.Set("Cache-Control", "no-store")
	return h
}

// ContentType implements huma.ContentTypeFilter.
func (*Problem) ContentType(string) string { return problemType }

const problemType = "application/problem+json"

// newProblem returns a problem with a status, the error, and what to do.
func newProblem(status int, detail, next string) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Next: next}
}

// write sends a problem outside of huma.
func (p *Problem) write(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	for name, values := range p.GetHeaders() {
		header[name] = values
	}
	header.Set("Content-Type", problemType)
	p.Instance = access.RequestID(r.Context())
	w.WriteHeader(p.Status)
	if r.Method != http.MethodHead {
		_ = json.NewEncoder(w).Encode(p) // the client may be gone
	}
}
