package agent

import (
	"strings"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// removed is what is reported of a reconciler that is no longer there: it follows nothing.
func removed(last hub.Report) hub.Report {
	return last.Reconciler().Gone(last.Observed)
}

// settle returns what there is to say about a reconciler when the last that was said of it is known.
// Reconcilers try again all the time what they have done, or failed to do, before. While they do, nothing has changed;
// neither has it when a failure only tells another duration.
func settle(last, next hub.Report) hub.Report {
	again := last.Repository == next.Repository && last.Ref == next.Ref && last.Path == next.Path && last.Revision == next.Revision
	switch {
	case !again:
		return next
	case next.State == hub.ReportedProgressing && next.Message == "" &&
		(last.State == hub.ReportedReady || last.State == hub.ReportedFailed):
		return last
	case next.State == last.State && withoutDigits(next.Message) == withoutDigits(last.Message):
		return last
	}
	return next
}

func withoutDigits(text string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, text)
}
