package scan

import (
	"fmt"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/check"
)

// State is the state of a scan of a digest.
type State string

// States of a scan.
const (
	Passed  State = "passed"  // the program found nothing
	Found   State = "found"   // it found something
	Running State = "running" // it is running or queued
	Waiting State = "waiting" // it could not run yet
)

// Record is the stored result of a scan of a digest.
type Record struct {
	// Scan and Reference are informational; a digest can have several names.
	Scan      string `json:"scan"`
	Reference string `json:"reference"`
	Digest    string `json:"digest"`
	// State is Passed, Found, or Waiting if all runs failed.
	State State `json:"state"`
	// Reason is the error of the last run, if it failed.
	Reason string `json:"reason,omitempty"`
	// Output is the end of the program's output, if it found something or failed.
	Output string `json:"output,omitempty"`
	// Attempts is the number of runs, or of failed runs since the last completed one. At is the end of the last run.
	Attempts int       `json:"attempts"`
	At       time.Time `json:"at"`
	// Since is the end of the last completed run, if later runs failed.
	Since time.Time `json:"since,omitzero"`
}

// Final reports whether a run has completed. Its result applies until another run completes.
func (r Record) Final() bool { return r.State == Passed || r.State == Found }

// Completed returns the end of the last completed run. Only valid if the record is final.
func (r Record) Completed() time.Time {
	if !r.Since.IsZero() {
		return r.Since
	}
	return r.At
}

// Pauses before a failed run is retried. Each is four times the previous one, up to the longest.
const (
	firstPause   = time.Minute
	longestPause = time.Hour
)

// unsignedPause is the pause before signatures are looked for again.
const unsignedPause = 10 * time.Minute

// soonestRescan is the minimum age of a result before a rescan: a run can take as long, and a pull request has to be mergeable in between.
const soonestRescan = time.Hour

// Due returns the earliest time of the next run. ok is false if no further run is needed.
func (r Record) Due(s check.Scan) (at time.Time, ok bool) {
	var pause time.Time // the end of the pause after a failed run
	if !r.Final() || !r.Since.IsZero() {
		pause = r.At.Add(r.pause())
	}
	switch {
	case r.Attempts == 0:
		return time.Time{}, true
	case !r.Final():
		return pause, true
	case s.Signatures != nil && r.State == Found: // it may be signed meanwhile
		at = r.Completed().Add(unsignedPause)
		if at.Before(pause) {
			at = pause
		}
		return at, true
	case s.RescanAfter <= 0:
		return time.Time{}, false
	}
	at = r.Completed().Add(max(s.RescanAfter, soonestRescan))
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

// After returns the record after another run. If the run failed, the previous result stays in effect.
func (r Record) After(s check.Scan, ended Ended, err error, now time.Time) Record {
	now = now.UTC().Truncate(time.Second)
	if err == nil && ended.Code != 0 && !slices.Contains(exitCodes(s), ended.Code) {
		err = fmt.Errorf("unexpected exit code %d: it is neither 0 nor one of exitCodes", ended.Code)
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
		r.State, r.Output = Passed, ""
	default:
		r.State = Found
	}
	return r
}
