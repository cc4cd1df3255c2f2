package github

import (
	"context"
	"errors"
	"strings"

	"github.com/google/go-github/v92/github"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// explain translates the client's error to one of package forge.
func (f *Forge) explain(o operation, where string, answer *github.Response, err error) error {
	if err == nil {
		return nil
	}
	var known *forge.Error
	if errors.As(err, &known) {
		located := *known
		located.Op, located.Where = o.name, where
		return &located
	}
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, end) {
			return &forge.Error{Kind: forge.ErrUnavailable, Op: o.name, Where: where, Detail: end.Error(), Cause: end}
		}
	}
	failure := rest.Failure{Op: o.name, Where: where, Right: o.right, Secrets: f.inUse(), Message: message(err)}
	var response *github.ErrorResponse
	if answer == nil && errors.As(err, &response) {
		answer = &github.Response{Response: response.Response}
	}
	if answer != nil {
		failure.Status = answer.StatusCode
		if accepted := answer.Header.Get("X-Accepted-Github-Permissions"); accepted != "" {
			failure.Right = accepted
		}
	}
	e := failure.Error()
	if errors.Is(e.Kind, forge.ErrInvalid) && isConflict(e.Detail) {
		e.Kind = forge.ErrConflict
	}
	return e
}

// inUse returns the credentials that the forge may quote.
func (f *Forge) inUse() []forge.Secret {
	if f.app == nil {
		return f.secrets
	}
	return f.app.secrets()
}

// message returns GitHub's message, without the URL that the client prepends.
func message(err error) string {
	var response *github.ErrorResponse
	if !errors.As(err, &response) {
		return "the answer is not what was expected; something else may answer in the forge's place"
	}
	reasons := []string{response.Message}
	for _, e := range response.Errors {
		switch {
		case e.Message != "":
			reasons = append(reasons, e.Message)
		case e.Field != "":
			reasons = append(reasons, e.Resource+" "+e.Field+" "+e.Code)
		}
	}
	return strings.Join(reasons, ": ")
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
