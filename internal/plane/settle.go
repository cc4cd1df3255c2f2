package plane

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// Settle schedules, records and promotes until nothing is left to do but to wait, for a command. The outcome is that of
// the last round, with what all rounds did.
func (p *Plane) Settle(ctx context.Context) (*promote.Outcome, error) {
	var last *promote.Outcome
	var did []string
	err := p.Promotion.Promoter.Settle(ctx, func(ctx context.Context) (promote.Settled, error) {
		loader := p.Loader()
		rollouts := &proposed{plane: p, loader: loader, did: map[string][]string{}}
		outcome, err := p.Promotion.Promoter.Round(ctx, p.platform(loader, recordedRollouts{p, rollouts}))
		if err != nil {
			return promote.Settled{}, err
		}
		done := slices.Concat(rollouts.all(), outcome.Did)
		did = slices.Concat(did, done)
		last, outcome.Did = outcome, did
		return promote.Settled{Outcome: outcome, Changed: len(done) > 0}, nil
	})
	if err != nil {
		return nil, err
	}
	return last, nil
}

// Look reads everything again, and puts on the board what rounds would find. It changes nothing.
func (p *Plane) Look(ctx context.Context) error {
	loader := p.Loader()
	outcome, err := p.Promotion.Promoter.Preview(ctx, p.platform(loader, planned{p, loader}))
	if err != nil {
		return fmt.Errorf("read the control plane: %w", err)
	}
	p.Board.Promoted(outcome.Subject, outcome)
	return nil
}

// proposed are the results of rounds that a command does while it promotes.
type proposed struct {
	plane  *Plane
	loader *schedule.Loader

	mu sync.Mutex
	// did lists what was done, by environment; several are scheduled at the same time.
	did map[string][]string
}

var _ promote.Rollouts = (*proposed)(nil)

// Rollout implements [promote.Rollouts].
func (r *proposed) Rollout(ctx context.Context, environment string) (*schedule.Outcome, error) {
	p := r.plane
	proposer := &schedule.Proposer{Drafter: p.drafter(r.loader), Committer: p.Commits, Forges: p.Forges}
	request := schedule.Request{ControlPlane: p.ControlPlane, Environment: environment}
	outcome, err := proposer.Round(ctx, request)
	if outcome != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.did[environment] = outcome.Did
	}
	return outcome, err
}

// all returns what was done in all environments.
func (r *proposed) all() []string {
	var lines []string
	for _, environment := range slices.Sorted(maps.Keys(r.did)) {
		for _, line := range r.did[environment] {
			lines = append(lines, environment+": "+line)
		}
	}
	return lines
}

// planned are the plans of what rollouts would change. Nothing is proposed.
type planned struct {
	plane  *Plane
	loader *schedule.Loader
}

var _ promote.Rollouts = planned{}

// Rollout implements [promote.Rollouts].
func (r planned) Rollout(ctx context.Context, environment string) (*schedule.Outcome, error) {
	outcome, err := r.plan(ctx, environment)
	now := r.plane.Promotion.Promoter.Now()
	r.plane.Board.Scheduled(ledger.CleanRepository(r.plane.ControlPlane), environment, outcome, err, now)
	return outcome, err
}

func (r planned) plan(ctx context.Context, environment string) (*schedule.Outcome, error) {
	draft, err := r.plane.drafter(r.loader).Draft(ctx, schedule.DraftRequest{
		Request: schedule.Request{ControlPlane: r.plane.ControlPlane, Environment: environment},
	})
	if err != nil {
		return nil, err
	}
	outcome := draft.Outcome()
	outcome.PullRequest, err = r.open(ctx, outcome.GitOps, environment)
	return outcome, err
}

// open finds the open pull request of an environment; nil if there is none, or no token for the forge.
func (r planned) open(ctx context.Context, at schedule.Location, environment string) (*forge.PullRequest, error) {
	host, err := r.plane.Forges.Forge(at.Repo)
	if err != nil {
		return nil, nil //nolint:nilerr // a plan does not need a forge
	}
	repo, err := host.Repository(at.Repo)
	if err != nil {
		return nil, err
	}
	open, err := repo.FindPullRequests(ctx, forge.PullRequestFilter{
		State: forge.Open, Head: pullrequest.HeadBranch(environment), Base: at.Branch, Limit: 1,
	})
	if err != nil || len(open) == 0 {
		return nil, err
	}
	return &open[0], nil
}
