package transport

import (
	"context"
	"errors"
	"net/http"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// KindOfStatus is the kind of error that an HTTP status means, as forges use them; nil for success.
func KindOfStatus(status int) error {
	switch {
	case status < 300:
		return nil
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return forge.ErrDenied
	case status == http.StatusNotFound, status == http.StatusGone:
		return forge.ErrNotFound
	case status == http.StatusMethodNotAllowed, status == http.StatusConflict, status == http.StatusPreconditionFailed,
		status == http.StatusLocked:
		return forge.ErrConflict
	case status == http.StatusTooManyRequests:
		return forge.ErrRateLimited
	case status >= 500:
		return forge.ErrUnavailable
	}
	return forge.ErrInvalid
}

// result is what metrics say of an attempt.
func (o outcome) result(ctx context.Context) string {
	var known *forge.Error
	switch {
	case ctx.Err() != nil:
		return "canceled"
	case errors.As(o.err, &known):
		return known.Kind.Error()
	case o.err != nil:
		return forge.ErrUnavailable.Error()
	case o.limited:
		return forge.ErrRateLimited.Error()
	case o.answer.StatusCode >= 300 && o.answer.StatusCode < 400:
		return "redirected"
	}
	if kind := KindOfStatus(o.answer.StatusCode); kind != nil {
		return kind.Error()
	}
	return "ok"
}

func status(answer *http.Response) int {
	if answer == nil {
		return 0
	}
	return answer.StatusCode
}

// detail is an error's text, fit to be shown.
func detail(err error) string { return secret.Scrub(err.Error()) }
