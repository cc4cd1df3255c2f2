package deliver

import (
	"context"
	"errors"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
)

// maxRounds is the maximum number of rounds of [Deliverer.Persist]. firstPause is the pause before the second round.
// Each further pause is twice as long, which makes 7.5 seconds in total.
const (
	maxRounds  = 5
	firstPause = 500 * time.Millisecond
)

// Persist runs [Deliverer.Round], and retries it for callers that run only once, such as CI jobs. A round can fail if
// something else, such as a server, works on the pull request at the same time: a branch moved, or the pull request
// already exists. The next round then reads everything again, with a new
// loader from again. The outcome lists what all rounds did and replaced.
func (d *Deliverer) Persist(ctx context.Context, request RoundRequest, again func() *Loader) (*Outcome, error) {
	next := *d
	var did []string
	var replaced map[string]PinnedTarget
	for pause := firstPause; ; pause *= 2 {
		o, err := next.Round(ctx, request)
		o.Did = append(did, o.Did...)
		if len(o.Replaced) == 0 { // an earlier round replaced them already
			o.Replaced = replaced
		}
		if err == nil || !retryable(err) || pause == firstPause<<(maxRounds-1) {
			return o, err
		}
		did, replaced = o.Did, o.Replaced
		d.Loader.progress("another client updated the pull request, reading again")
		select {
		case <-ctx.Done():
			return o, errors.Join(err, ctx.Err())
		case <-time.After(pause):
		}
		next.Loader = again()
	}
}

// retryable reports whether a round failed because something changed after it was read.
func retryable(err error) bool {
	return errors.Is(err, pullrequest.ErrMoved) || errors.Is(err, pullrequest.ErrBusy) || errors.Is(err, forge.ErrConflict)
}
