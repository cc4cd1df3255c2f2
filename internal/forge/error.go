package forge

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Secret is a token or key that does not print.
type Secret = secret.Value

// NewSecret returns a secret; an empty text is the zero value.
func NewSecret(text string) Secret { return secret.New(text) }

// The kinds of errors; match them with [errors.Is].
var (
	// ErrNotFound means that something does not exist, or is hidden from the credential.
	ErrNotFound = errors.New("not found")
	// ErrDenied means that the credential is missing, wrong, expired, or lacks [Error.Right].
	ErrDenied = errors.New("denied")
	// ErrConflict means that the state is not what the request expects. Read it again, and decide again.
	ErrConflict = errors.New("conflict")
	// ErrInvalid means that this request can never succeed.
	ErrInvalid = errors.New("invalid")
	// ErrTooMany means that the forge stores no more of this kind, such as statuses of one commit.
	ErrTooMany = errors.New("too many")
	// ErrUnsupported means that the forge, or the settings of the repository, do not offer this.
	ErrUnsupported = errors.New("not supported")
	// ErrRateLimited means too many requests; wait for [Error.RetryAfter].
	ErrRateLimited = errors.New("rate limited")
	// ErrUnavailable means that the forge does not respond, or fails. A later attempt may succeed.
	ErrUnavailable = errors.New("unavailable")
)

// Error says what failed, where and why, and what to do next. It never contains credentials.
type Error struct {
	// Kind is one of the Err variables of this package.
	Kind error
	// Op is the operation: "open pull request".
	Op string
	// Where is the repository or URL, redacted.
	Where string
	// Detail is the message of the forge; optional.
	Detail string
	// Right is the permission that the credential lacks, as the forge calls it; empty if unknown.
	Right string
	// RetryAfter is how long to wait, if the forge says so; otherwise 0.
	RetryAfter time.Duration
	// Status is the HTTP status; 0 without a response.
	Status int
	// Hint says what to do next; optional.
	Hint string
	// Cause is the error of a context that ended; optional.
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

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause != nil {
		return []error{e.Kind, e.Cause}
	}
	return []error{e.Kind}
}

// Ignore returns nil for errors of a kind, and other errors unchanged.
func Ignore(err, kind error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}

// IgnoreSame returns nil for a conflict with a branch that already is at the commit. read returns the commit of the branch.
func IgnoreSame(err error, commit string, read func() (string, error)) error {
	if !errors.Is(err, ErrConflict) {
		return err
	}
	if now, readErr := read(); readErr == nil && now == commit {
		return nil
	}
	return err
}

func redact(url string) string { return secret.Redact(url) }
