package output

import (
	"fmt"
	"time"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
)

// Printer prints answers in a style. It shows times in the time zone of now.
type Printer struct {
	style terminal.Style
	now   time.Time
}

// NewPrinter returns a printer for the output of a terminal.
func NewPrinter(t *terminal.Terminal) Printer { return Printer{style: t.OutStyle, now: t.Now()} }

const timeLayout = "2006-01-02 15:04:05 MST"

// When formats a time; zero is a dash.
func (v Printer) When(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.In(v.now.Location()).Format(timeLayout)
}

// ago returns how long ago a time is, in its largest unit; zero is never.
func (v Printer) ago(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return age(v.now.Sub(at)) + " ago"
}

// age formats a duration in its largest unit.
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
