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
	// Reason says why it waits, or why the runs since the one that counts came to no end.
	Reason string `json:"reason,omitempty"`
	// Output is the end of what the program wrote, where it found something or came to no end.
	Output string `json:"output,omitempty"`
	// Attempts is how many runs there were, or how many came to no end since the one that counts. At is when the last one ended.
	Attempts int       `json:"attempts"`
	At       time.Time `json:"at"`
	// Since is when the run that counts ended, where later ones came to no end; else it is the last.
	Since time.Time `json:"since,omitzero"`
}

// Final reports whether a run came to an end. What it found counts until another run does.
func (r Record) Final() bool { return r.State == Passed || r.State == Found }

// Looked is when the run ended that counts; meaningless for a record that is not final.
func (r Record) Looked() time.Time {
	if !r.Since.IsZero() {
		return r.Since
	}
	return r.At
}

// The pauses before a run that came to no end is tried again: each is four times the one before, up to the longest.
const (
	firstPause   = time.Minute
	longestPause = time.Hour
)

// soonestRescan is how long what a scan found counts at least: a run may take as long, and a change has to get past it.
const soonestRescan = time.Hour

// Due is when the next run of a scan may begin; ok is false where there is to be none.
func (r Record) Due(s check.Scan) (at time.Time, ok bool) {
	var pause time.Time // when the pause is over that follows a run without an end
	if !r.Final() || !r.Since.IsZero() {
		pause = r.At.Add(r.pause())
	}
	switch {
	case r.Attempts == 0:
		return time.Time{}, true
	case !r.Final():
		return pause, true
	case s.RescanAfter <= 0:
		return time.Time{}, false
	}
	at = r.Looked().Add(max(s.RescanAfter, soonestRescan))
	if at.Before(pause) {
		at = pause
	}
	return at, true
}

func (r Record) pause() time.Duration {
	pause := firstPause
	for range r.Attempts - 1 {
		if pause *= 4; pause >= longestPause {
			return longestPause
		}
	}
	return pause
}

// After is the record after one more run: of how it ended, or of the error why it came to no end. Then what was found before counts.
func (r Record) After(s check.Scan, ended Ended, err error, now time.Time) Record {
	now = now.UTC().Truncate(time.Second)
	if err == nil && ended.Code != 0 && !slices.Contains(exitCodes(s), ended.Code) {
		err = fmt.Errorf("it ended with exit code %d, which says neither that it found something nor that it did not", ended.Code)
	}
	if err != nil && r.Final() {
		if r.Since.IsZero() {
			r.Since, r.Attempts = r.At, 0
		}
		r.Attempts, r.At, r.Reason = r.Attempts+1, now, err.Error()
		return r
	}
	r.Attempts, r.At, r.Since, r.Reason, r.Output = r.Attempts+1, now, time.Time{}, "", ended.Output
	switch {
	case err != nil:
		r.State, r.Reason = Waiting, err.Error()
	case ended.Code == 0:
		r.State, r.Output = Passed, "" // nobody needs it
	default:
		r.State = Found
	}
	return r
}
