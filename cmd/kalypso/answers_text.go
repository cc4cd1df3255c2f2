package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// timeLayout is how people see a time, in the time zone of their machine.
const timeLayout = "2006-01-02 15:04:05 MST"

// when shows a time for people; zero is a dash.
func (t *terminal) when(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.In(t.now().Location()).Format(timeLayout)
}

// ago says how long ago a time is, in its largest unit; zero is never.
func (t *terminal) ago(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return age(t.now().Sub(at)) + " ago"
}

// age is a duration in its largest unit.
func age(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

var fullHash = regexp.MustCompile(`\b[0-9a-f]{40}\b`)

// shortHashes shortens the commits that a text names.
func shortHashes(text string) string { return fullHash.ReplaceAllStringFunc(text, short) }

// timeFlag is a time that people type: 2026-11-17, 2026-11-17T10:00, RFC 3339, or 36h and 7d for that long ago.
type timeFlag struct {
	t  *terminal
	at time.Time
}

// String, Set and Type make timeFlag the value of a flag.
func (f *timeFlag) String() string {
	if f.at.IsZero() {
		return ""
	}
	return f.at.Format(time.RFC3339)
}

// Set understands a time. One without a zone is of the machine's.
func (f *timeFlag) Set(text string) error {
	now := f.t.now()
	if d, ok := parseAge(text); ok {
		f.at = now.Add(-d)
		return nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateTime, time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			f.at = at
			return nil
		}
	}
	return fmt.Errorf("want a time such as 2026-11-17, 2026-11-17T10:00 or 2026-11-17T10:00:00Z, or how long ago, such as 36h or 7d")
}

// Type names the value in the help.
func (f *timeFlag) Type() string { return "TIME" }

// parseAge reads how long ago something was: a duration, or a number of days.
func parseAge(text string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(days)
		return time.Duration(n) * 24 * time.Hour, err == nil && n >= 0 && n <= 36500
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0
}
