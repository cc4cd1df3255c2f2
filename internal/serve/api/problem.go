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
	// Type is always about:blank: Status says what kind of problem it is.
	Type  string `json:"type"`
	Title string `json:"title"`
	// Status is that of the answer.
	Status int `json:"status"`
	// Detail says what is wrong.
	Detail string `json:"detail,omitempty"`
	// Next says what can be done about it.
	Next string `json:"next,omitempty"`
	// Instance is the name of the request, which the log of the server has, too.
	Instance string `json:"instance,omitempty"`
	// Errors say where, when several things are wrong or it is about a part of the request.
	Errors []ProblemPart `json:"errors,omitempty"`

	retryAfter time.Duration
	// shown says that a credential came along and was not accepted.
	shown bool
}

// ProblemPart is what is wrong with a part of a request.
type ProblemPart struct {
	Message string `json:"message"`
	// Location is where: "body.memberships[0].environment", "query.limit", "path.name".
	Location string `json:"location,omitempty"`
}

// Error implements error.
func (p *Problem) Error() string { return p.Detail }

// GetStatus is for huma: the status of the answer.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders is for huma: the headers that belong to the answer.
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

// ContentType is for huma: the type of the body.
func (*Problem) ContentType(string) string { return problemType }

const problemType = "application/problem+json"

// newProblem is a problem with nothing but a status and what is wrong.
func newProblem(status int, detail, next string) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Next: next}
}

// write answers a request with a problem, where huma is not there to do it.
func (p *Problem) write(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	for name, values := range p.GetHeaders() {
		header[name] = values
	}
	header.Set("Content-Type", problemType)
	p.Instance = access.RequestID(r.Context())
	w.WriteHeader(p.Status)
	if r.Method != http.MethodHead {
		_ = json.NewEncoder(w).Encode(p) // whoever asked may be gone
	}
}
