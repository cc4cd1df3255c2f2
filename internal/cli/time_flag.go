package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
)

// TimeFlag is a time that people type: 2026-11-17, 2026-11-17T10:00, RFC 3339, or 36h and 7d for that long ago.
type TimeFlag struct {
	Terminal *terminal.Terminal
	At       time.Time
}

// String, Set and Type make timeFlag the value of a flag.
func (f *TimeFlag) String() string {
	if f.At.IsZero() {
		return ""
	}
	return f.At.Format(time.RFC3339)
}

// Set understands a time. One without a zone is of the machine's.
func (f *TimeFlag) Set(text string) error {
	now := f.Terminal.Now()
	if d, ok := ParseAge(text); ok {
		f.At = now.Add(-d)
		return nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateTime, time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			f.At = at
			return nil
		}
	}
	return fmt.Errorf("want a time such as 2026-11-17, 2026-11-17T10:00 or 2026-11-17T10:00:00Z, or how long ago, such as 36h or 7d")
}

// Type names the value in the help.
func (f *TimeFlag) Type() string { return "TIME" }

// ParseAge reads how long ago something was: a duration, or a number of days.
func ParseAge(text string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(days)
		return time.Duration(n) * 24 * time.Hour, err == nil && n >= 0 && n <= 36500
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0
}
