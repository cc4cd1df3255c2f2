package promote

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// maxRounds stops a loop that a defect makes endless.
const maxRounds = 50

// Settled is the result of one round of [Promoter.Settle].
type Settled struct {
	// Outcome is nil if the round ended before promotion.
	Outcome *Outcome
	// Changed is set if the round did something, so that another round may be needed.
	Changed bool
}

// Settle calls round until it changes nothing and no verification is running. The error is that of the last round.
// When the context ends while a verification is running, it returns nil: the next process runs the verification again.
func (p *Promoter) Settle(ctx context.Context, round func(context.Context) (Settled, error)) error {
	for range maxRounds {
		s, err := round(ctx)
		switch {
		case s.Outcome == nil || ctx.Err() != nil:
			return errors.Join(err, context.Cause(ctx))
		case s.Changed:
			continue
		case err != nil || !s.Outcome.verifying():
			return err // an error in one environment has not stopped the others
		}
		select {
		case <-ctx.Done():
			return nil
		case <-p.checks.ended():
		}
	}
	return fmt.Errorf("after %d rounds there is still something to do; run it again", maxRounds)
}

// verifying reports whether verifications are running.
func (o *Outcome) verifying() bool {
	return slices.ContainsFunc(o.Environments, func(s Standing) bool {
		return slices.ContainsFunc(s.Checks, func(c decide.CheckProgress) bool { return c.State == decide.CheckRunning })
	})
}
