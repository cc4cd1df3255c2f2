package output

import (
	"fmt"
	"time"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
)

// View is how answers are shown to somebody: in which style, and at which time, in whose time zone other times are shown.
type View struct {
	style terminal.Style
	now   time.Time
}

// For shows answers to whoever reads the output of a terminal.
func For(t *terminal.Terminal) View { return View{style: t.OutStyle, now: t.Now()} }

// timeLayout is how people see a time, in the time zone of their machine.
const timeLayout = "2006-01-02 15:04:05 MST"

// When shows a time for people; zero is a dash.
func (v View) When(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.In(v.now.Location()).Format(timeLayout)
}

// ago says how long ago a time is, in its largest unit; zero is never.
func (v View) ago(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return age(v.now.Sub(at)) + " ago"
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
