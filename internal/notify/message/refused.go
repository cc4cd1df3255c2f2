package message

import "time"

// RefusedError is the error for a receiver that answered, and did not accept a message.
type RefusedError struct {
	Text string
	// RetryAfter is the pause that the receiver asks for; zero if it does not.
	RetryAfter time.Duration
}

// Error implements error.
func (r *RefusedError) Error() string { return r.Text }
