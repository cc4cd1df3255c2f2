package deliver

import (
	"context"
	"errors"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
)

// maxRounds is how many rounds [Deliverer.Persist] makes at most, and firstPause is the time before the second one;
// each further pause is twice as long: 7.5 seconds all in all.
const (
	maxRounds  = 5
	firstPause = 500 * time.Millisecond
)

// Persist is [Deliverer.Round] for somebody who does not come back. When somebody else is at work on the change at the same time, such
// as a server, a round may end because a branch moved, or because there is such a change already: then all is read again, by the loader
// that again returns, and another round is made. What all rounds did is in the outcome.
func (d *Deliverer) Persist(ctx context.Context, order Order, again func() *Loader) (*Outcome, error) {
	next := *d
	var did []string
	for pause := firstPause; ; pause *= 2 {
		o, err := next.Round(ctx, order)
		o.Did = append(did, o.Did...)
		if err == nil || !disturbed(err) || pause == firstPause<<(maxRounds-1) {
			return o, err
		}
		did = o.Did
		d.Loader.progress("somebody else is at work on the change, reading again")
		select {
		case <-ctx.Done():
			return o, errors.Join(err, ctx.Err())
		case <-time.After(pause):
		}
		next.Loader = again()
	}
}

// disturbed reports whether a round ended because something was not as it was when it was read.
func disturbed(err error) bool {
	return errors.Is(err, pullrequest.ErrMoved) || errors.Is(err, pullrequest.ErrBusy) || errors.Is(err, forge.ErrConflict)
}
