package api

import (
	"context"
	"errors"
	"fmt"
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

// kinds is the table from errors to statuses; the first that matches counts.
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
	{ingest.ErrTooLarge, http.StatusRequestEntityTooLarge, "send less at once"},
	{ingest.ErrEncoding, http.StatusUnsupportedMediaType, "send it with Content-Encoding: gzip, or with none"},
	{ingest.ErrInvalid, http.StatusUnprocessableEntity, ""},
	{ledger.ErrNotFound, http.StatusNotFound, ""},
	{ledger.ErrInvalid, http.StatusUnprocessableEntity, ""},
	{context.DeadlineExceeded, http.StatusServiceUnavailable, "ask for less, or again later"},
	{context.Canceled, http.StatusServiceUnavailable, "ask again"},
}

// ambiguousError says that environments of several control planes have a name.
type ambiguousError struct {
	environment   string
	controlPlanes []string
}

func (e *ambiguousError) Error() string {
	return fmt.Sprintf("%d control planes have an environment %q", len(e.controlPlanes), e.environment)
}

// problemOf says an error in the words of HTTP. Only errors of known kinds show their text: nothing else was written for
// whoever asks.
func problemOf(err error) *Problem {
	var p *Problem
	var refusal *access.Refusal
	var ambiguous *ambiguousError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &refusal):
		p = newProblem(statusOf(err), refusal.What, refusal.Next)
		p.retryAfter, p.shown = refusal.RetryAfter, refusal.Shown
		return p
	case errors.As(err, &ambiguous):
		return ambiguous.problem()
	}
	switch status := statusOf(err); status {
	case http.StatusInternalServerError:
		return broken()
	case http.StatusServiceUnavailable:
		p = newProblem(status, "it took too long", nextOf(err))
		p.retryAfter = time.Second
		return p
	default:
		return newProblem(status, inLine(err), nextOf(err))
	}
}

// broken is the problem of whoever runs the server.
func broken() *Problem {
	return newProblem(http.StatusInternalServerError, "something broke", "the log of the server knows more about this request")
}

func statusOf(err error) int {
	for _, k := range kinds {
		if errors.Is(err, k.kind) {
			return k.status
		}
	}
	return http.StatusInternalServerError
}

// nextOf is what to do about an error.
func nextOf(err error) string {
	var unknown *query.UnknownError
	if errors.As(err, &unknown) && len(unknown.Near) > 0 {
		return "ask for " + strings.Join(unknown.Near, ", ")
	}
	for _, k := range kinds {
		if errors.Is(err, k.kind) {
			return k.next
		}
	}
	return ""
}

// safe makes a text fit to be shown.
func safe(text string) string { return secret.Line(secret.Redact(text)) }

// inLine makes the text of an error fit to be shown; several errors in one have a line each.
func inLine(err error) string { return safe(strings.ReplaceAll(err.Error(), "\n", "; ")) }

func (e *ambiguousError) problem() *Problem {
	p := newProblem(http.StatusConflict, e.Error(), "say which one: add ?controlPlane= with one of the addresses below")
	for _, url := range e.controlPlanes {
		p.Errors = append(p.Errors, ProblemPart{Message: url, Location: "query.controlPlane"})
	}
	return p
}

// maxParts bounds how many errors of one request are told.
const maxParts = 20

// ofHuma says what huma found wrong with a request in our words. What it quotes of the request is left out, since that
// may be a secret which somebody put into the wrong place.
func ofHuma(m *huma.ErrorModel) *Problem {
	p := newProblem(m.Status, m.Detail, "")
	switch m.Status {
	case http.StatusUnprocessableEntity, http.StatusBadRequest:
		p.Detail, p.Next = "the request is not understood", "see /api/openapi.json for what it may have"
	case http.StatusRequestEntityTooLarge:
		p.Detail, p.Next = "the request is too large", "send less at once"
	case http.StatusUnsupportedMediaType:
		p.Detail, p.Next = "the type of the body is not understood", "send application/json"
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
