package ledger

import "errors"

// The kinds of errors. Match with [errors.Is].
var (
	// ErrNotFound means that the ledger has no such record.
	ErrNotFound = errors.New("not found")
	// ErrInvalid means that an argument is invalid: a name is missing, or a value is unknown.
	ErrInvalid = errors.New("invalid")
)
