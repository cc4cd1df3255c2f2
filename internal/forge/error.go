package forge

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Secret is a token or key. It does not print.
type Secret = secret.Value

// NewSecret hides a text; an empty one is no secret.
func NewSecret(text string) Secret { return secret.New(text) }

// The kinds of errors. Every error of a forge is one of them, or the context's own; match with [errors.Is].
var (
	// ErrNotFound means that it is not there, or that the credential does not reveal it.
	ErrNotFound = errors.New("not found")
	// ErrDenied means that the credential is missing, wrong, expired or lacks a right; [Error.Right] says which.
	ErrDenied = errors.New("denied")
	// ErrConflict means that things are not as the request takes for granted; read them again and decide anew.
	ErrConflict = errors.New("conflict")
	// ErrInvalid means that the request can never succeed as it is.
	ErrInvalid = errors.New("invalid")
	// ErrRateLimited means that we asked too much; [Error.RetryAfter] says how long to wait.
	ErrRateLimited = errors.New("rate limited")
	// ErrUnavailable means that the forge does not answer or fails; trying again later may help.
	ErrUnavailable = errors.New("unavailable")
)

// Error says what was attempted, where, what came of it and what to do next.
// Its text never contains credentials.
type Error struct {
	// Kind is one of the Err variables of this package.
	Kind error
	// Op is the attempt in plain verb form: "open pull request".
	Op string
	// Where is the repository or URL, redacted.
	Where string
	// Detail is what the forge says; empty means that Kind says it all.
	Detail string
	// Right is what a denied credential lacks, in the forge's own words; empty when unknown.
	Right string
	// RetryAfter is how long to wait when rate limited, or when the forge says so; 0 when it does not.
	RetryAfter time.Duration
	// Status is the answer's HTTP status; 0 when there was no answer.
	Status int
	// Hint says what to do next; may be empty.
	Hint string
	// Cause is the end of a context, where that is the reason.
	Cause error
}

// Error returns `open pull request "github.com/o/r": denied: detail (needs pull_requests=write); hint`.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Where != "" {
		fmt.Fprintf(&b, " %q", e.Where)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	fmt.Fprint(&b, e.Kind)
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	if e.Right != "" {
		b.WriteString(" (needs " + e.Right + ")")
	}
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, "; again in %s", e.RetryAfter.Round(time.Second))
	}
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// Unwrap makes errors.Is match the kind, and the end of a context where that is the reason.
func (e *Error) Unwrap() []error {
	if e.Cause != nil {
		return []error{e.Kind, e.Cause}
	}
	return []error{e.Kind}
}

func redact(url string) string { return secret.Redact(url) }
