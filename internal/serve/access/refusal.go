package access

import (
	"errors"
	"time"
)

// The kinds of refusals. Match with [errors.Is].
var (
	// ErrUnauthenticated means that there is no credential, or an invalid one.
	ErrUnauthenticated = errors.New("not authenticated")
	// ErrForbidden means that the client's role is not sufficient.
	ErrForbidden = errors.New("not allowed")
	// ErrTooMany means that an address failed too often recently.
	ErrTooMany = errors.New("too many attempts")
	// ErrUnavailable means that credentials cannot be checked at the moment.
	ErrUnavailable = errors.New("cannot be checked now")
)

// Refusal is an error for clients. It never quotes credentials.
type Refusal struct {
	// Kind is one of the errors above.
	Kind error
	// What is the reason, Next what to do.
	What, Next string
	// RetryAfter is the time after which to try again; zero if that does not help.
	RetryAfter time.Duration
	// Shown is true if the request had a credential that was rejected.
	Shown bool
}

// Error returns the reason and what to do.
func (r *Refusal) Error() string {
	if r.Next == "" {
		return r.What
	}
	return r.What + ": " + r.Next
}

// Unwrap returns the kind.
func (r *Refusal) Unwrap() error { return r.Kind }
