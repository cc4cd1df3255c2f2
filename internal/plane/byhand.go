package plane

import (
	"context"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// Set sets values of the platform's configuration on a branch of their own, with commits of the user who asked.
func (p *Plane) Set(
	ctx context.Context, commits repository.Committer, r schedule.SetRequest) (*schedule.Setting, error,
) {
	return p.Drafter().Set(p.sharing(ctx, "values"), commits, r)
}

// SetApplication sets values of an application's configuration on a branch of their own, with commits of the user who
// asked.
func (p *Plane) SetApplication(
	ctx context.Context, subject string, commits repository.Committer, r deliver.SetRequest) (*deliver.Setting, error,
) {
	var err error
	if r.Request, err = p.Request(ctx, subject); err != nil {
		return nil, err
	}
	drafter := &deliver.Drafter{Loader: p.ApplicationLoader(), Renderer: p.Applications.Renderer}
	return drafter.Set(p.sharing(ctx, subject), commits, r)
}

// PinTargets pins targets of an application, as a round of it does, with commits of the user who asked.
func (p *Plane) PinTargets(
	ctx context.Context, subject, workload string, commits repository.Committer,
	r deliver.PinTargetsRequest) (*deliver.RequestedPins, error,
) {
	var err error
	if r.Like.Request, err = p.Request(ctx, subject); err != nil {
		return nil, err
	}
	done, err := p.alone(ctx, subject)
	if err != nil {
		return nil, err
	}
	defer done()
	d := p.Chain(workload).Deliverer
	d.Committer, r.Again = commits, p.ApplicationLoader
	past := p.Past()
	past.Loader = d.Loader
	return d.PinTargets(p.sharing(ctx, subject), past, r)
}
