package reporting

import "errors"

// The kinds of errors about what was sent. Match with [errors.Is]; the text of each error may be shown to who sent it.
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
