package ledger

import "errors"

// The kinds of errors. Match with [errors.Is].
var (
	// ErrNotFound means that it was not recorded.
	ErrNotFound = errors.New("not found")
	// ErrInvalid means that it cannot be recorded as it is: a name is missing, or a word is not one of the ledger's.
	ErrInvalid = errors.New("invalid")
)
