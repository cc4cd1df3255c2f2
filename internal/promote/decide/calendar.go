package decide

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// calendar holds the times at which commits may be promoted. The zero value allows any time.
type calendar struct {
	windows []window
	freezes []v1alpha1.Freeze
}

// window opens on a schedule, each time for the same duration.
type window struct {
	starts   *cron.SpecSchedule
	duration time.Duration
}

// closed explains why nothing can be promoted now, and returns when that ends.
// It returns "" if promotions are allowed, and a zero time if no end is known.
func (c *calendar) closed(now time.Time) (why string, until time.Time) {
	for _, f := range c.freezes {
		if !now.Before(f.From.Time) && now.Before(f.To.Time) {
			return "frozen until " + clock(f.To.Time, now) + because(f.Reason), f.To.Time
		}
	}
	for _, w := range c.windows {
		if w.open(now) {
			return "", time.Time{}
		}
		if next := w.starts.Next(now); !next.IsZero() && (until.IsZero() || next.Before(until)) {
			until = next
		}
	}
	switch {
	case len(c.windows) == 0:
		return "", time.Time{}
	case until.IsZero():
		return "no window opens any more", time.Time{}
	default:
		return "the next window opens at " + clock(until, now), until
	}
}

// open reports whether the window is open. The window includes its start and excludes its end.
func (w window) open(now time.Time) bool {
	start := w.starts.Next(now.Add(-w.duration))
	return !start.IsZero() && !start.After(now)
}

// parseWindow parses a window. A start in the hour that a time zone skips in spring is skipped too.
func parseWindow(w v1alpha1.Window) (window, error) {
	zone, err := parseZone(w.TimeZone)
	if err != nil {
		return window{}, err
	}
	// The parser also accepts time zones, which have their own field, and notations that are not supported here.
	if len(strings.Fields(w.Cron)) != 5 || strings.Contains(w.Cron, "TZ=") {
		return window{}, fmt.Errorf("cron %q has not five fields: minute, hour, day of month, month, day of week", w.Cron)
	}
	parsed, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(w.Cron)
	if err != nil {
		return window{}, fmt.Errorf("cron %q: %w", w.Cron, err)
	}
	starts, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return window{}, fmt.Errorf("cron %q is no schedule", w.Cron)
	}
	starts.Location = zone
	switch {
	case starts.Next(time.Unix(0, 0)).IsZero():
		return window{}, fmt.Errorf("cron %q never comes", w.Cron)
	case w.Duration.Duration <= 0:
		return window{}, errors.New("a window without a duration never opens")
	}
	return window{starts, w.Duration.Duration}, nil
}

// parseZone returns the time zone with an IANA name. It rejects "Local", which depends on the machine.
func parseZone(name string) (*time.Location, error) {
	if name == "Local" {
		return nil, errors.New(`time zone "Local" is another one on every machine`)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("time zone %q is not known; write an IANA name such as Europe/Berlin", name)
	}
	return zone, nil
}

// clock formats a time in UTC, without the date if it is the same day as now.
func clock(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04 UTC")
	}
	return t.Format("2006-01-02 15:04 UTC")
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}
