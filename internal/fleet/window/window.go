// Package window knows the windows of clusters, rings and environments: recurring time spans in which they may be changed.
//
//	{cron: "0 2 * * *", duration: 3h, timeZone: Europe/Berlin} ─► Parse ─► Window: open now? opens next when?
//
// It is a package of its own because the agent, which applies in the windows of its cluster, links nothing else of package fleet.
package window

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// Window is a recurring time span. It opens on a schedule, each time for the same duration.
type Window struct {
	starts   *cron.SpecSchedule
	duration time.Duration
}

// Open reports whether the window is open. The window includes its start and excludes its end.
func (w Window) Open(now time.Time) bool {
	start := w.starts.Next(now.Add(-w.duration))
	return !start.IsZero() && !start.After(now)
}

// Next returns when the window opens next after a time; zero if it never does.
func (w Window) Next(now time.Time) time.Time { return w.starts.Next(now) }

// Open reports whether one of several windows is open, and if none is, when the next one opens; zero if none does any more.
func Open(windows []Window, now time.Time) (open bool, next time.Time) {
	for _, w := range windows {
		if w.Open(now) {
			return true, time.Time{}
		}
		if at := w.Next(now); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return false, next
}

// Parse parses a window. A start in the hour that a time zone skips in spring is skipped too.
func Parse(w v1alpha1.Window) (Window, error) {
	zone, err := parseZone(w.TimeZone)
	if err != nil {
		return Window{}, err
	}
	// The parser also accepts time zones, which have their own field, and notations that are not supported here.
	if len(strings.Fields(w.Cron)) != 5 || strings.Contains(w.Cron, "TZ=") {
		return Window{}, fmt.Errorf("cron %q has not five fields: minute, hour, day of month, month, day of week", w.Cron)
	}
	parsed, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(w.Cron)
	if err != nil {
		return Window{}, fmt.Errorf("cron %q: %w", w.Cron, err)
	}
	starts, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return Window{}, fmt.Errorf("cron %q is no schedule", w.Cron)
	}
	starts.Location = zone
	switch {
	case starts.Next(time.Unix(0, 0)).IsZero():
		return Window{}, fmt.Errorf("cron %q never comes", w.Cron)
	case w.Duration.Duration <= 0:
		return Window{}, errors.New("a window without a duration never opens")
	}
	return Window{starts, w.Duration.Duration}, nil
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
