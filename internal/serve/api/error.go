package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// kinds maps errors to statuses. The first match counts.
var kinds = []struct {
	kind   error
	status int
	next   string
}{
	{access.ErrUnauthenticated, http.StatusUnauthorized, ""},
	{access.ErrForbidden, http.StatusForbidden, ""},
	{access.ErrTooMany, http.StatusTooManyRequests, ""},
	{access.ErrUnavailable, http.StatusServiceUnavailable, ""},
	{access.ErrNoSuchToken, http.StatusNotFound, "list the tokens: GET " + Root + "/tokens"},
	{access.ErrInvalidToken, http.StatusUnprocessableEntity, ""},
	{ingest.ErrMalformed, http.StatusBadRequest, ""},
	{ingest.ErrDenied, http.StatusForbidden, ""},
	{ingest.ErrNotFound, http.StatusNotFound, ""},
	{ingest.ErrConflict, http.StatusConflict, ""},
	{ingest.ErrTooLarge, http.StatusRequestEntityTooLarge, "send less per request"},
	{ingest.ErrEncoding, http.StatusUnsupportedMediaType, "send it with Content-Encoding: gzip, or with none"},
	{ingest.ErrInvalid, http.StatusUnprocessableEntity, ""},
	{ledger.ErrNotFound, http.StatusNotFound, ""},
	{ledger.ErrInvalid, http.StatusUnprocessableEntity, ""},
	{query.ErrNotRead, http.StatusServiceUnavailable, "try again in a moment"},
	{context.DeadlineExceeded, http.StatusServiceUnavailable, "request less, or try again later"},
	{context.Canceled, http.StatusServiceUnavailable, "try again"},
}

// fullRetry is when to try again if the disk is full.
const fullRetry = 30 * time.Second

// problemOf converts an error. Only errors of known kinds show their text: others were not written for clients.
func problemOf(err error) *Problem {
	var p *Problem
	var refusal *access.Refusal
	var several *query.AmbiguousError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &refusal):
		p = newProblem(statusOf(err), refusal.What, refusal.Next)
		p.retryAfter, p.shown = refusal.RetryAfter, refusal.Shown
		return p
	case errors.As(err, &several):
		return ambiguous(several)
	case errors.Is(err, query.ErrCursor):
		p = newProblem(statusOf(err), "invalid cursor", "omit after to start with the first page")
		p.Errors = []ProblemPart{{Message: "want next of the previous page", Location: "query.after"}}
		return p
	}
	if ledger.IsFull(err) {
		p = newProblem(http.StatusServiceUnavailable, "the server's disk is full", "nothing was stored: send it again later, after an administrator has freed space")
		p.retryAfter = fullRetry
		return p
	}
	switch status := statusOf(err); status {
	case http.StatusInternalServerError:
		return broken()
	case http.StatusServiceUnavailable:
		p = newProblem(status, "the request took too long", nextOf(err))
		if errors.Is(err, query.ErrNotRead) {
			p.Detail = inLine(err)
		}
		p.retryAfter = time.Second
		return p
	default:
		return newProblem(status, inLine(err), nextOf(err))
	}
}

// broken returns the problem of an internal error.
func broken() *Problem {
	return newProblem(http.StatusInternalServerError, "internal error", "see the server's log for this request")
}

func statusOf(err error) int {
	for _, k := range kinds {
		if errors.Is(err, k.kind) {
			return k.status
		}
	}
	return http.StatusInternalServerError
}

// nextOf returns what to do about an error.
func nextOf(err error) string {
	var unknown *query.UnknownError
	if errors.As(err, &unknown) && len(unknown.Near) > 0 {
		return "try " + strings.Join(unknown.Near, ", ")
	}
	for _, k := range kinds {
		if errors.Is(err, k.kind) {
			return k.next
		}
	}
	return ""
}

// safe returns a text on one line, without credentials.
func safe(text string) string { return secret.Line(secret.Redact(text)) }

// inLine returns the text of an error on one line. Joined errors have a line each.
func inLine(err error) string { return safe(strings.ReplaceAll(err.Error(), "\n", "; ")) }

func ambiguous(e *query.AmbiguousError) *Problem {
	p := newProblem(http.StatusConflict, e.Error(), "add ?controlPlane= with one of the URLs below")
	for _, url := range e.ControlPlanes {
		p.Errors = append(p.Errors, ProblemPart{Message: url, Location: "query.controlPlane"})
	}
	return p
}

// maxParts limits the details of one problem.
const maxParts = 20

// ofHuma converts an error that huma found in a request. It does not quote the request, which may contain a secret in the wrong place.
func ofHuma(m *huma.ErrorModel) *Problem {
	p := newProblem(m.Status, m.Detail, "")
	switch m.Status {
	case http.StatusUnprocessableEntity, http.StatusBadRequest:
		p.Detail, p.Next = "invalid request", "see /api/openapi.json for its parameters"
	case http.StatusRequestEntityTooLarge:
		p.Detail, p.Next = "the request is too large", "send less per request"
	case http.StatusUnsupportedMediaType:
		p.Detail, p.Next = "unsupported content type", "send application/json"
	case http.StatusRequestTimeout:
		p.Detail, p.Next = "the request did not arrive in time", "send it again"
	case http.StatusInternalServerError:
		return broken()
	}
	for _, e := range m.Errors[:min(len(m.Errors), maxParts)] {
		if e != nil {
			p.Errors = append(p.Errors, ProblemPart{Message: safe(e.Message), Location: safe(e.Location)})
		}
	}
	return p
}
