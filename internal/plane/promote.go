package plane

import (
	"context"
	"time"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/record"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// NewPromotion connects a ledger to repositories. The promoter has the ledger, unless it has another one, and the
// clock. Close it.
func NewPromotion(commits repository.Committer, l ledger.Ledger, promoter *promote.Promoter) *Promotion {
	if promoter.Ledger == nil {
		promoter.Ledger = l
	}
	if promoter.Now == nil {
		promoter.Now = time.Now
	}
	promoter.Ancestry = &repository.Ancestry{Client: commits.Client}
	return &Promotion{
		Ledger: l, Promoter: promoter, Rings: &repository.Rings{Committer: commits}, Hosts: &record.Hosts{},
		Recorder: &record.Recorder{
			Repositories: repository.GitOpsBranches{Client: commits.Client}, Ledger: l, Now: promoter.Now,
		},
	}
}

// Chain returns the chain of an application.
func (p *Promotion) Chain(d *deliver.Deliverer) *deliver.Chain {
	return &deliver.Chain{
		Deliverer: d, Promoter: p.Promoter, Lines: repository.Lines{Client: p.Rings.Committer.Client}, Ledger: p.Ledger,
		Branches: p.Rings, Now: p.Promoter.Now,
	}
}

// Promote promotes the commits of the control plane along the chain of its environments. The outcome is not nil if only
// some environments have an error.
func (p *Plane) Promote(ctx context.Context) (*promote.Outcome, error) {
	var rollouts promote.Rollouts = lastRounds{p}
	if p.Promotion.Inline {
		rollouts = recordedRollouts{p, rollouts}
	}
	o, err := p.Promotion.Promoter.Round(ctx, p.Platform(rollouts))
	if o != nil {
		p.Board.Promoted(p.ControlPlane, o)
	}
	return o, err
}

// Platform returns the pipeline of the control plane, for one round. rollouts has the results of the environments'
// rounds.
func (p *Plane) Platform(rollouts promote.Rollouts) *promote.Platform {
	return p.platform(p.Loader(), rollouts)
}

func (p *Plane) platform(loader *schedule.Loader, rollouts promote.Rollouts) *promote.Platform {
	rings := p.Promotion.Rings
	return &promote.Platform{
		ControlPlane: p.ControlPlane, Chain: p.Promotion.Chains[p.ControlPlane], Loader: loader, Forges: p.Forges,
		Rollouts: rollouts, Link: p.Promotion.Link, Lines: repository.Lines{Client: rings.Committer.Client},
		Committer: repository.PromotionCommitter{Committer: rings.Committer}, Rings: rings,
	}
}

// lastRounds are the results of the last rounds of the environments.
type lastRounds struct{ *Plane }

var _ promote.Rollouts = lastRounds{}

// Rollout implements [promote.Rollouts]. It returns nil before the first round.
func (l lastRounds) Rollout(_ context.Context, environment string) (*schedule.Outcome, error) {
	last := l.Board.Scheduling(l.ControlPlane, environment)
	switch {
	case last == nil:
		return nil, nil
	case last.Err != nil && l.Promotion.Strict:
		return nil, last.Err
	}
	return last.Outcome, nil
}

// recordedRollouts records what the GitOps branches of an environment want, once its round has succeeded.
type recordedRollouts struct {
	plane *Plane
	promote.Rollouts
}

// Rollout implements [promote.Rollouts].
func (r recordedRollouts) Rollout(ctx context.Context, environment string) (*schedule.Outcome, error) {
	o, err := r.Rollouts.Rollout(ctx, environment)
	if err != nil || o == nil || o.Loaded == nil {
		return o, err
	}
	s := &record.Summary{}
	if err := r.plane.recordBranches(ctx, r.plane.branchesOf(o.Loaded, s), s); err != nil {
		return o, err
	}
	return o, ctx.Err()
}
