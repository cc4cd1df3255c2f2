package client

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Errors that do not come from a Kalypso server. Match with [errors.Is].
var (
	// ErrNoAPI means that something else answered: a proxy's page, or another program.
	ErrNoAPI = errors.New("this is not a Kalypso server")
	// ErrUnreachable means that there was no answer, or an incomplete one.
	ErrUnreachable = errors.New("the server cannot be reached")
)

// Refusal is an answer with a status other than 2xx. Its texts are safe to display.
type Refusal struct {
	// Status is the HTTP status code.
	Status int
	// Message is the server's explanation; may be empty.
	Message string
	// Details lists what is wrong with parts of the request.
	Details []string
	// Next is the server's advice; may be empty.
	Next string
	// After is how long the server wants to wait, at most an hour; 0 if it does not say.
	After time.Duration

	// problem is set when the answer has the format of the API's errors, and does not come from a proxy.
	problem bool
}

// Error returns the server's explanation with its details.
func (r *Refusal) Error() string {
	text := cmp.Or(r.Message, fmt.Sprintf("the server answers %d %s", r.Status, http.StatusText(r.Status)))
	if len(r.Details) > 0 {
		text += ": " + strings.Join(r.Details, "; ")
	}
	return text
}

// Hint returns what to do: the server's advice, or what the status suggests. May be empty.
func (r *Refusal) Hint() string {
	switch {
	// The server's advice is about HTTP headers, which users of commands do not type.
	case r.Status == http.StatusUnauthorized:
		return "set KALYPSO_TOKEN to a token, or name a file with --token-file; an admin creates tokens with kalypso token create"
	case r.Next != "":
		return r.Next
	// A Kalypso server adds its own advice where a role is missing. Its other 403 answers are not about the token.
	case r.Status == http.StatusForbidden && !r.problem:
		return "the token's role does not allow this; ask an admin for another role"
	case r.Status == http.StatusNotFound && !r.problem:
		return "check that this is the address of a Kalypso server: its API is below " + root
	case r.Status/100 == 3:
		return "the token is not sent to another address; if you trust that address, use it as the server"
	case r.Status == http.StatusTooManyRequests, r.Status == http.StatusServiceUnavailable:
		return "the server is busy; try again later"
	case r.Status/100 == 5:
		return "see the server's log for details"
	}
	return ""
}

// NotFound reports whether a Kalypso server answered that what was requested does not exist.
func (r *Refusal) NotFound() bool { return r.problem && r.Status == http.StatusNotFound }

// problem is an error of the API, as application/problem+json (RFC 9457), with advice in next.
type problem struct {
	Title  string
	Detail string
	Next   string
	Errors []struct {
		Message  string
		Location string
	}
}

// maxDetails bounds the details of a refusal.
const maxDetails = 10

func newRefusal(response *http.Response, body []byte, token secret.Value) error {
	r := &Refusal{Status: response.StatusCode, After: retryAfter(response.Header.Get("Retry-After"))}
	if to := response.Header.Get("Location"); r.Status/100 == 3 && to != "" {
		r.Message = "the server redirects to " + secret.Scrub(to, token)
		return r
	}
	var p problem
	if json.Unmarshal(body, &p) != nil {
		return r
	}
	r.problem = strings.HasPrefix(response.Header.Get("Content-Type"), "application/problem+json")
	r.Message, r.Next = secret.Scrub(cmp.Or(p.Detail, p.Title), token), secret.Scrub(p.Next, token)
	for _, e := range p.Errors[:min(len(p.Errors), maxDetails)] {
		text := e.Message
		if e.Location != "" {
			text = e.Location + ": " + text
		}
		r.Details = append(r.Details, secret.Scrub(text, token))
	}
	return r
}

// RetryAfter returns how long the server wants to wait; 0 if it does not say.
func (r *Refusal) RetryAfter() time.Duration { return r.After }

// retryAfter parses seconds, which is what a Kalypso server sends. Dates would need synchronized clocks and are ignored.
func retryAfter(text string) time.Duration {
	seconds, err := strconv.ParseInt(text, 10, 64) // int has 32 bits on some clusters
	if err != nil || seconds <= 0 {
		return 0
	}
	return min(time.Duration(min(seconds, 3600))*time.Second, time.Hour)
}

// connectionError is an [ErrUnreachable]. The server may or may not have received the request.
type connectionError struct{ error }

// Is matches [ErrUnreachable].
func (e connectionError) Is(target error) bool { return target == ErrUnreachable }

// Unwrap returns the cause.
func (e connectionError) Unwrap() error { return e.error }

// unreachable shortens a transport error and adds advice for the cause that a user can fix.
func unreachable(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return context.Canceled
	}
	// Drop the method and the complete URL.
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err
	}
	var authority x509.UnknownAuthorityError
	if errors.As(err, &authority) {
		return fmt.Errorf("reach the server: %w; if you use a private certificate authority, set SSL_CERT_FILE to its certificate", err)
	}
	return connectionError{fmt.Errorf("reach the server: %w", err)}
}
