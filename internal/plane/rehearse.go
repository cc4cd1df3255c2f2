package plane

import (
	"context"
	"fmt"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
)

// Rehearse returns the state of the control plane's promotions, and what it would be after commands.
func (p *Plane) Rehearse(ctx context.Context, commands ...ledger.Step) (is, would *promote.Outcome, err error) {
	platform := func() *promote.Platform { return p.Platform(lastRounds{p}) } // it is for one round
	if is, err = p.Promotion.Promoter.Preview(ctx, platform()); err == nil {
		would, err = p.Promotion.Promoter.Rehearse(ctx, platform(), commands...)
	}
	return is, would, err
}

// RehearseApplication returns what commands would do to an application.
func (p *Plane) RehearseApplication(
	ctx context.Context, subject string, commands ...ledger.Step,
) (*deliver.Rehearsed, error) {
	a := p.Applications.application(registration{p.ControlPlane, subject})
	if a == nil {
		return nil, fmt.Errorf("%w: this server does not deliver %s", ledger.ErrNotFound, subject)
	}
	if err := a.rounds.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer a.rounds.Release(1)
	if a.last == nil {
		return nil, fmt.Errorf(
			"%w: the first round of the application has not ended, or another server delivers it", ledger.ErrInvalid,
		)
	}
	return p.Chain(a.request.Workload).Rehearse(p.sharing(ctx, subject), a.request, a.last, commands...)
}
