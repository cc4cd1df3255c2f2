package decide

import (
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet/window"
)

// calendar holds the times at which commits may be promoted. The zero value allows any time.
type calendar struct {
	windows []window.Window
	freezes []v1alpha1.Freeze
}

// closed explains why nothing can be promoted now, and returns when that ends.
// It returns "" if promotions are allowed, and a zero time if no end is known.
func (c *calendar) closed(now time.Time) (why string, until time.Time) {
	for _, f := range c.freezes {
		if !now.Before(f.From.Time) && now.Before(f.To.Time) {
			return "frozen until " + clock(f.To.Time, now) + because(f.Reason), f.To.Time
		}
	}
	open, until := window.Open(c.windows, now)
	switch {
	case open || len(c.windows) == 0:
		return "", time.Time{}
	case until.IsZero():
		return "no window opens any more", time.Time{}
	default:
		return "the next window opens at " + clock(until, now), until
	}
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
