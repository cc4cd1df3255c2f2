package ingest

import (
	"errors"
	"fmt"
)

// The kinds of errors about what somebody sent or asked. Match with [errors.Is].
var (
	// ErrMalformed means that it is not in the format at all: 400.
	ErrMalformed = errors.New("malformed")
	// ErrDenied means that the sender may not say or ask that: 403.
	ErrDenied = errors.New("denied")
	// ErrNotFound means that what is spoken of does not exist: 404.
	ErrNotFound = errors.New("not found")
	// ErrConflict means that it contradicts what is there already: 409.
	ErrConflict = errors.New("conflict")
	// ErrTooLarge means that it is larger than the limits: 413.
	ErrTooLarge = errors.New("too large")
	// ErrEncoding means that its content encoding is none that is understood: 415.
	ErrEncoding = errors.New("unknown encoding")
	// ErrInvalid means that its content breaks the rules of the format: 422.
	ErrInvalid = errors.New("invalid")
)

// Refusal is an error about what somebody sent or asked. Its text is for them: it has no credential, and nothing that
// only others may know.
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
