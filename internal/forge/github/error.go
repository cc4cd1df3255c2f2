package github

import (
	"errors"
	"net/http"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// explain refines an error response: GitHub says which permission it wants, and some failed validations are conflicts.
func (f *Forge) explain(r rest.Request, header http.Header, e *forge.Error) {
	e.Detail = secret.Scrub(e.Detail, f.inUse()...)
	if accepted := header.Get("X-Accepted-Github-Permissions"); accepted != "" && e.Status == http.StatusForbidden && e.Right != "" {
		e.Right = accepted
	}
	switch {
	case !errors.Is(e.Kind, forge.ErrInvalid):
	case isConflict(e.Detail):
		e.Kind = forge.ErrConflict
	case r.Op == setStatus.name && strings.Contains(e.Detail, "No commit found"):
		e.Kind = forge.ErrNotFound
	case r.Op == setStatus.name && strings.Contains(e.Detail, "maximum number of statuses"):
		e.Kind = forge.ErrTooMany
	}
}

// inUse returns the credentials that the forge may quote.
func (f *Forge) inUse() []forge.Secret {
	if f.app == nil {
		return f.secrets
	}
	return f.app.secrets()
}

// isConflict reports whether a failed validation is a conflict, so that a later attempt can succeed.
func isConflict(detail string) bool {
	for _, part := range []string{
		"already exists", "No commits between", "sha can't be blank", // a branch that was pushed just now
		"cannot be reopened", "cannot be changed", "base branch was modified", "is not part of the pull request",
	} {
		if strings.Contains(detail, part) {
			return true
		}
	}
	return false
}

// says reports whether an error is a response of a status whose message has a part.
func says(err error, status int, part string) bool {
	var e *forge.Error
	return errors.As(err, &e) && e.Status == status && strings.Contains(strings.ToLower(e.Detail), strings.ToLower(part))
}
