package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
)

// TimeFlag is a flag for a time: 2026-11-17, 2026-11-17T10:00, RFC 3339, or how long ago, such as 36h or 7d.
type TimeFlag struct {
	Terminal *terminal.Terminal
	At       time.Time
}

// String implements [pflag.Value].
func (f *TimeFlag) String() string {
	if f.At.IsZero() {
		return ""
	}
	return f.At.Format(time.RFC3339)
}

// Set implements [pflag.Value]. Without a time zone, it uses that of the machine.
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

// Type implements [pflag.Value].
func (f *TimeFlag) Type() string { return "TIME" }

// ParseAge parses a duration, or a number of days such as 7d.
func ParseAge(text string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(days)
		return time.Duration(n) * 24 * time.Hour, err == nil && n >= 0 && n <= 36500
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0
}
