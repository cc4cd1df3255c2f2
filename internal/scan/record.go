package scan

import (
	"fmt"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/check"
)

// State says how a scan of a digest stands.
type State string

// The states.
const (
	// Passed is that the program found nothing.
	Passed State = "passed"
	// Found is that it found something.
	Found State = "found"
	// Running is that it is looked at, or will be as soon as others are done.
	Running State = "running"
	// Waiting is that nobody could look yet, with the reason.
	Waiting State = "waiting"
)

// Record is what is kept of a scan of a digest.
type Record struct {
	// Scan and Reference are for people who read the records; a digest may have several names.
	Scan      string `json:"scan"`
	Reference string `json:"reference"`
	Digest    string `json:"digest"`
	// State is Passed, Found, or Waiting after runs that came to no end.
	State State `json:"state"`
	// Reason says why it waits.
	Reason string `json:"reason,omitempty"`
	// Output is the end of what the program wrote, where it found something or came to no end.
	Output string `json:"output,omitempty"`
	// Attempts is how many runs there were, At when the last one ended.
	Attempts int       `json:"attempts"`
	At       time.Time `json:"at"`
}

// Final reports whether the digest is never looked at again.
func (r Record) Final() bool { return r.State == Passed || r.State == Found }

// The pauses before a run that came to no end is tried again: each is four times the one before, up to the longest.
const (
	firstPause   = time.Minute
	longestPause = time.Hour
)

// Due is when the next run may begin; meaningless for a record that is final.
func (r Record) Due() time.Time {
	pause := firstPause
	for range r.Attempts - 1 {
		if pause *= 4; pause >= longestPause {
			pause = longestPause
			break
		}
	}
	return r.At.Add(pause)
}

// After is the record after one more run: of how it ended, or of the error why it came to no end.
func (r Record) After(s check.Scan, ended Ended, err error, now time.Time) Record {
	r.Attempts, r.At, r.Reason, r.Output = r.Attempts+1, now.UTC().Truncate(time.Second), "", ended.Output
	switch {
	case err != nil:
		r.State, r.Reason = Waiting, err.Error()
	case ended.Code == 0:
		r.State, r.Output = Passed, "" // nobody needs it
	case slices.Contains(exitCodes(s), ended.Code):
		r.State = Found
	default:
		r.State, r.Reason = Waiting, fmt.Sprintf("it ended with exit code %d, which says neither that it found something nor that it did not", ended.Code)
	}
	return r
}
