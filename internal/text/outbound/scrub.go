package outbound

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/text/secret"
	"github.com/kalypso-io/kalypso/internal/text/secret/known"
)

// ErrTooLarge is the error for an answer that is larger than its limit.
var ErrTooLarge = errors.New("the answer is too large")

const (
	// leastShown is the length of a secret that is hidden where it would be shown: in errors, in headers, and in answers that are not a success.
	leastShown = 4
	// leastContent is the length of a secret that is hidden in content. A shorter one may be a word of it.
	leastContent = 16
)

type secretsKey struct{}

// With returns a context for requests with more credentials than those in their headers and URLs.
func With(ctx context.Context, secrets ...secret.Value) context.Context {
	earlier, _ := ctx.Value(secretsKey{}).([]secret.Value)
	return context.WithValue(ctx, secretsKey{}, slices.Concat(earlier, secrets))
}

// Secrets returns the credentials that a request is sent with, in the spellings in which they travel.
func Secrets(r *http.Request) []secret.Value {
	var texts []string
	for name, values := range r.Header {
		if !tellsSecret(name) {
			continue
		}
		for _, value := range values {
			texts = append(texts, fromHeader(value)...)
		}
	}
	if r.URL.User != nil {
		password, _ := r.URL.User.Password()
		texts = append(texts, password)
	}
	for name, values := range r.URL.Query() {
		if tellsSecret(name) {
			texts = append(texts, values...)
		}
	}
	more, _ := r.Context().Value(secretsKey{}).([]secret.Value)
	all := slices.Clone(more)
	for _, text := range texts {
		if len(text) >= leastShown {
			all = append(all, secret.New(text))
		}
	}
	return all
}

// tellsSecret reports whether a header or parameter has a credential, by its name.
func tellsSecret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"authorization", "token", "secret", "password", "apikey", "api-key", "api_key", "cookie"}, func(part string) bool {
		return strings.Contains(name, part)
	})
}

// fromHeader returns the credentials in a header: a token with or without its type, or a user and a password.
func fromHeader(value string) []string {
	kind, rest, found := strings.Cut(value, " ")
	if !found {
		return []string{value}
	}
	texts := []string{rest}
	if pair, err := base64.StdEncoding.DecodeString(rest); err == nil && strings.EqualFold(kind, "Basic") {
		user, password, _ := strings.Cut(string(pair), ":")
		texts = append(texts, password)
		if len(user) >= leastContent { // some take a token as the name of the user
			texts = append(texts, user)
		}
	}
	return texts
}

// scrubbing hides the credentials of a request in its answer and in its error.
type scrubbing struct {
	next    http.RoundTripper
	options Options
}

// CloseIdleConnections closes the connections that no request uses.
func (s *scrubbing) CloseIdleConnections() {
	if c, ok := s.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip implements [http.RoundTripper].
func (s *scrubbing) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := s.options.permitName(r.URL.Hostname()); err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	secrets := Secrets(r)
	remember(secrets)
	answer, err := s.next.RoundTrip(r)
	if err != nil {
		return nil, scrubbed(err, secrets)
	}
	if answer.StatusCode == http.StatusSwitchingProtocols {
		return answer, nil
	}
	if s.options.MaxBody > 0 {
		answer.Body = &limited{answer.Body, s.options.MaxBody}
	}
	if len(secrets) > 0 {
		hide(answer, secrets)
	}
	return answer, nil
}

// remember makes the log hide secrets. A short one may be a word, such as a part of a URL.
func remember(secrets []secret.Value) {
	for _, v := range secrets {
		if len(v.Reveal()) >= leastContent {
			known.Add(v)
		}
	}
}

// hide hides secrets in an answer. A redirect keeps its location, which is requested and not shown.
func hide(answer *http.Response, secrets []secret.Value) {
	shown := newMask(leastShown, secrets)
	answer.Status = shown.text(answer.Status)
	for name, values := range answer.Header {
		if name == "Location" {
			continue
		}
		for i := range values {
			values[i] = shown.text(values[i])
		}
	}
	switch {
	case answer.StatusCode >= http.StatusMultipleChoices:
		answer.Body = shown.reader(answer.Body)
	case !strings.HasSuffix(answer.Request.URL.Path, "/token"): // which answers with a credential, possibly the same one
		answer.Body = newMask(leastContent, secrets).reader(answer.Body)
	}
}

// scrubbed returns an error without secrets. It is the same one if it has none.
func scrubbed(err error, secrets []secret.Value) error {
	text := newMask(leastShown, secrets).text(err.Error())
	if text == err.Error() {
		return err
	}
	return &hiddenError{text, err}
}

// hiddenError is an error with another text.
type hiddenError struct {
	text  string
	cause error
}

// Error returns the text without secrets.
func (e *hiddenError) Error() string { return e.text }

// Unwrap returns the error for [errors.Is] and [errors.As]. Its text must not be shown.
func (e *hiddenError) Unwrap() error { return e.cause }

// Timeout reports whether a time limit was exceeded, as package net does.
func (e *hiddenError) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.As(e.cause, &t) && t.Timeout()
}

// limited is a body that ends with an error after some bytes.
type limited struct {
	io.ReadCloser
	left int64
}

// Read implements [io.Reader].
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, ErrTooLarge
	}
	return n, err
}
