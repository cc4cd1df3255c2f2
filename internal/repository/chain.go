package repository

import (
	"context"
	"fmt"
	"time"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/record"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// ConnectPlatform returns the pipeline of a control plane for one round, with its repositories connected: those that the committer of rings writes to.
func ConnectPlatform(rings *Rings, p promote.Platform) *promote.Platform {
	p.Lines, p.Committer, p.Rings = Lines{Client: rings.Committer.Client}, PromotionCommitter{Committer: rings.Committer}, rings
	return &p
}

// ChainOptions are what a [Chain] is made from.
type ChainOptions struct {
	// ControlPlane is the URL or path of the repository. // required
	ControlPlane string
	// Order has environments without promotion rules.
	Order []string
	// Committer writes to the repositories. Its client also reads them. // required
	Committer Committer
	// Forges host them. // required
	Forges pullrequest.Forges
	// Ledger has the steps of promotions, and what clusters report. // required
	Ledger ledger.Ledger
	// Checks runs verifications. Without it they fail.
	Checks promote.Checks
	// Checked is called when a verification ends. Optional.
	Checked func()
	// People are the users whose reviews on forges count. Without it, reviews are not read.
	People *forge.People
	// Now is the clock. // required
	Now func() time.Time
}

// Chain promotes the commits of one control plane along the chain of its environments, for a command and for the operator, which have no
// server. Close its promoter.
type Chain struct {
	ChainOptions
	Promoter *promote.Promoter

	rings    *Rings
	recorder *record.Recorder
}

// NewChain connects a control plane to its ledger. It reads nothing yet.
func NewChain(o ChainOptions) *Chain {
	client := o.Committer.Client
	c := &Chain{
		ChainOptions: o,
		Promoter:     &promote.Promoter{Ledger: o.Ledger, Ancestry: &Ancestry{Client: client}, Checks: o.Checks, People: o.People, Now: o.Now},
		rings:        &Rings{Committer: o.Committer},
		recorder:     &record.Recorder{Repositories: GitOpsBranches{Client: client}, Ledger: o.Ledger, Now: o.Now},
	}
	if o.Checked != nil {
		c.Promoter.Checked = func(string) { o.Checked() }
	}
	return c
}

// Platform returns the pipeline for one round. rollouts has the results of the environments' rounds.
func (c *Chain) Platform(loader *schedule.Loader, rollouts promote.Rollouts) *promote.Platform {
	return ConnectPlatform(c.rings, promote.Platform{ControlPlane: c.ControlPlane, Chain: c.Order, Loader: loader, Forges: c.Forges, Rollouts: rollouts})
}

// Round runs a round of promotion. It records what the GitOps branches want before it promotes by it. The outcome is not nil if only
// some environments have an error.
func (c *Chain) Round(ctx context.Context, loader *schedule.Loader, rollouts promote.Rollouts) (*promote.Outcome, error) {
	return c.Promoter.Round(ctx, c.Platform(loader, &recordedRollouts{c, rollouts}))
}

// Application returns the chain of an application, which has the ledger, the repositories and the verifications of the control plane.
func (c *Chain) Application(d *deliver.Deliverer) *deliver.Chain {
	return &deliver.Chain{Deliverer: d, Promoter: c.Promoter, Lines: Lines{Client: c.Committer.Client}, Ledger: c.Ledger, Branches: c.rings, Now: c.Now}
}

// recordedRollouts records what the GitOps branches of an environment want, once its round has succeeded.
type recordedRollouts struct {
	*Chain
	promote.Rollouts
}

// Rollout implements [promote.Rollouts].
func (r *recordedRollouts) Rollout(ctx context.Context, environment string) (*schedule.Outcome, error) {
	outcome, err := r.Rollouts.Rollout(ctx, environment)
	if err != nil || outcome == nil || outcome.Loaded == nil {
		return outcome, err
	}
	return outcome, r.record(ctx, outcome.Loaded)
}

// record records what GitOps branches want. An application's branch that cannot be read does not block the platform.
func (c *Chain) record(ctx context.Context, loaded *schedule.Loaded) error {
	hosts := &record.Hosts{}
	hosts.Add(c.ControlPlane)
	hosts.AddRead(loaded)
	branches, _ := record.Branches(loaded, NewReader(c.Committer.Client).Resolve, hosts)
	for _, branch := range branches {
		if _, err := c.recorder.Branch(ctx, branch); err != nil && branch.Kind == ledger.BranchPlatform {
			return fmt.Errorf("record branch %q of %s: %w", branch.Branch, secret.Redact(branch.Repository), err)
		}
	}
	return ctx.Err()
}
