package access

import (
	"errors"
	"time"
)

// The kinds of refusals. Match with [errors.Is].
var (
	// ErrUnauthenticated means that it is not known who is asking, or that what they showed is not valid.
	ErrUnauthenticated = errors.New("not authenticated")
	// ErrForbidden means that who is asking may not.
	ErrForbidden = errors.New("not allowed")
	// ErrTooMany means that an address failed too often lately.
	ErrTooMany = errors.New("too many attempts")
	// ErrUnavailable means that it cannot be found out at the moment.
	ErrUnavailable = errors.New("cannot be checked now")
)

// Refusal says why somebody may not do something, in words for them.
// It never quotes what they showed.
type Refusal struct {
	// Kind is one of the kinds of this package.
	Kind error
	// What is the reason, and Next what can be done about it.
	What, Next string
	// RetryAfter is how long to wait before it may work; zero when waiting does not help.
	RetryAfter time.Duration
	// Shown says that a credential came along and was not accepted.
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
