package ingest

import (
	"errors"
	"fmt"
)

// The kinds of a [Refusal], with their HTTP status. Match with [errors.Is].
var (
	// ErrMalformed means that the input cannot be parsed: 400.
	ErrMalformed = errors.New("malformed")
	// ErrDenied means that the sender is not allowed to do that: 403.
	ErrDenied = errors.New("denied")
	// ErrNotFound means that the cluster or token does not exist: 404.
	ErrNotFound = errors.New("not found")
	// ErrConflict means that the input conflicts with a stored registration: 409.
	ErrConflict = errors.New("conflict")
	// ErrTooLarge means that the input exceeds a limit: 413.
	ErrTooLarge = errors.New("too large")
	// ErrEncoding means that the content encoding is not supported: 415.
	ErrEncoding = errors.New("unknown encoding")
	// ErrInvalid means that a value is invalid: 422.
	ErrInvalid = errors.New("invalid")
)

// Refusal is an error about the input. Its text is for the sender and has no credentials or data of others.
type Refusal struct {
	Kind error // one of those above
	Text string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Text }

// Unwrap returns the kind.
func (r *Refusal) Unwrap() error { return r.Kind }

func refuse(kind error, format string, args ...any) error {
	return &Refusal{kind, fmt.Sprintf(format, args...)}
}
