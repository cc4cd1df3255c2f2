package client

import (
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

// Errors that are no answers. Match with [errors.Is].
var (
	// ErrNoAPI means that what answers is no server of this kind: a page of a proxy, or another program.
	ErrNoAPI = errors.New("this is no Kalypso server")
	// ErrUnreachable means that nothing answers, or not to the end.
	ErrUnreachable = errors.New("the server cannot be reached")
)

// Refusal is an answer that says no.
type Refusal struct {
	// Status is that of HTTP.
	Status int
	// Said is what the server says about it, fit to be shown; may be empty.
	Said string
	// Details are what is wrong with parts of the request, fit to be shown.
	Details []string
	// Next is what the server says can be done about it, fit to be shown; may be empty.
	Next string
	// After is how long the server wants to be left alone; 0 when it does not say.
	After time.Duration

	// problem says that the server spoke in the words of its API, and not some proxy before it.
	problem bool
}

// Error says what the server said.
func (r *Refusal) Error() string {
	text := fmt.Sprintf("the server answers %d %s", r.Status, http.StatusText(r.Status))
	if r.Said != "" {
		text = r.Said
	}
	if len(r.Details) > 0 {
		text += ": " + strings.Join(r.Details, "; ")
	}
	return text
}

// Hint says what to do now: what the server says, or what its status suggests. May be empty.
func (r *Refusal) Hint() string {
	switch {
	// The server speaks of headers here, which nobody types.
	case r.Status == http.StatusUnauthorized:
		return "say who you are with a token: in KALYPSO_TOKEN, or a file that --token-file names; an admin makes one with kalypso token create"
	case r.Next != "":
		return r.Next
	// Our server says what to do about a role. Of all else that it denies, a token is not the reason.
	case r.Status == http.StatusForbidden && !r.problem:
		return "the token is good for less than this; ask for one with another role"
	case r.Status == http.StatusNotFound && !r.problem:
		return "is the address that of a Kalypso server? its API is below " + Root
	case r.Status/100 == 3:
		return "the token goes nowhere else; if you trust that address, name it as the server"
	case r.Status == http.StatusTooManyRequests, r.Status == http.StatusServiceUnavailable:
		return "the server is busy; try again later"
	case r.Status/100 == 5:
		return "the log of the server says more"
	}
	return ""
}

// problem is what an API says is wrong, as application/problem+json has it (RFC 9457), with what can be done about it.
type problem struct {
	Title  string
	Detail string
	Next   string
	Errors []struct {
		Message  string
		Location string
	}
}

// maxDetails is how many details are shown.
const maxDetails = 10

func refusal(response *http.Response, body []byte, token secret.Value) error {
	r := &Refusal{Status: response.StatusCode, After: retryAfter(response.Header.Get("Retry-After"))}
	if to := response.Header.Get("Location"); r.Status/100 == 3 && to != "" {
		r.Said = "the server redirects to " + secret.Scrub(to, token)
		return r
	}
	var p problem
	if json.Unmarshal(body, &p) != nil {
		return r
	}
	r.problem = strings.HasPrefix(response.Header.Get("Content-Type"), "application/problem+json")
	if r.Said = p.Detail; r.Said == "" {
		r.Said = p.Title
	}
	r.Said, r.Next = secret.Scrub(r.Said, token), secret.Scrub(p.Next, token)
	for _, e := range p.Errors[:min(len(p.Errors), maxDetails)] {
		text := e.Message
		if e.Location != "" {
			text = e.Location + ": " + text
		}
		r.Details = append(r.Details, secret.Scrub(text, token))
	}
	return r
}

// retryAfter understands seconds, which is what our server says. A date is for those whose clocks agree.
func retryAfter(text string) time.Duration {
	seconds, err := strconv.Atoi(text)
	if err != nil || seconds <= 0 {
		return 0
	}
	return min(time.Duration(min(seconds, 3600))*time.Second, longestPause)
}

// lost is an error of the way to the server, an [ErrUnreachable]: whether the server took the request is not known.
type lost struct{ error }

// Is makes it an [ErrUnreachable].
func (e lost) Is(target error) bool { return target == ErrUnreachable }

// Unwrap returns what happened.
func (e lost) Unwrap() error { return e.error }

// unreachable adds to an error what to do, where something can be done.
func unreachable(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return context.Canceled
	}
	// It begins with the method and the whole address, which nobody asked for.
	var tried *url.Error
	if errors.As(err, &tried) {
		err = tried.Err
	}
	var authority x509.UnknownAuthorityError
	if errors.As(err, &authority) {
		return fmt.Errorf("reach the server: %w; if its certificate is of your own authority, name the authority's file in SSL_CERT_FILE", err)
	}
	return lost{fmt.Errorf("reach the server: %w", err)}
}
