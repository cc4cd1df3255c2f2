package decide

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// calendar are the times in which a commit may enter. The zero value is always.
type calendar struct {
	windows []window
	freezes []v1alpha1.Freeze
}

// window opens at the times of a schedule, each time for a while.
type window struct {
	starts   *cron.SpecSchedule
	duration time.Duration
}

// closed says why nothing may enter now, and when that ends; "" when it may. The time is zero when it does not end.
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

// open says whether the window is open. The last start that still matters lies after now-duration:
// a window is closed again at the very moment its duration is over.
func (w window) open(now time.Time) bool {
	start := w.starts.Next(now.Add(-w.duration))
	return !start.IsZero() && !start.After(now)
}

// parseWindow understands a window. A start that falls into the hour that a time zone skips in spring does not happen.
func parseWindow(w v1alpha1.Window) (window, error) {
	zone, err := parseZone(w.TimeZone)
	if err != nil {
		return window{}, err
	}
	// The parser would take a time zone and other notations, too, for which there is a field or no need.
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

// parseZone finds a time zone by its IANA name. "Local" would mean another zone on every machine.
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

// clock writes a time in UTC, without the day when that is today.
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
