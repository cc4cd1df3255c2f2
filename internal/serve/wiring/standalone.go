package wiring

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/chart/sandbox"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/plane"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/verify"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/external"
)

// Standalone promotes one control plane for a command that runs without a server. Close its promoter.
type Standalone struct {
	*repository.Chain

	schedulers *external.Asker
	progress   func(what string)
	cache      *fleet.Cache
	board      *plane.Board
}

// StandaloneOptions are what a [Standalone] is made from.
type StandaloneOptions struct {
	repository.ChainOptions
	// Schedulers are the external schedulers. Without it, only their recorded answers are used.
	Schedulers *external.Asker
	// Progress is called with what is read. Optional.
	Progress func(what string)
}

// NewStandalone connects a control plane to its ledger. It reads nothing yet.
func NewStandalone(o StandaloneOptions) *Standalone {
	return &Standalone{
		Chain: repository.NewChain(o.ChainOptions), schedulers: o.Schedulers, progress: o.Progress, cache: &fleet.Cache{}, board: &plane.Board{},
	}
}

var _ query.Fleet = (*Standalone)(nil)

// ControlPlanes implements [query.Fleet]. It returns what the last preview found.
func (s *Standalone) ControlPlanes() []query.ControlPlane { return s.board.ControlPlanes() }

// Preview reads everything again, and changes nothing.
func (s *Standalone) Preview(ctx context.Context) error {
	loader := s.loader()
	outcome, err := s.Promoter.Preview(ctx, s.Platform(loader, &plannedRollouts{s, loader}))
	if err != nil {
		return fmt.Errorf("read the control plane: %w", err)
	}
	s.board.Promoted(outcome.Subject, outcome)
	return nil
}

// Promote schedules, records and promotes until nothing is left to do but to wait. The outcome is that of the last round,
// with what all rounds did.
func (s *Standalone) Promote(ctx context.Context) (*promote.Outcome, error) {
	var last *promote.Outcome
	var did []string
	err := s.Promoter.Settle(ctx, func(ctx context.Context) (promote.Settled, error) {
		rollouts := &scheduledRollouts{Standalone: s, loader: s.loader(), did: map[string][]string{}}
		outcome, err := s.Round(ctx, rollouts.loader, rollouts)
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

// loader reads the control plane, for one round.
func (s *Standalone) loader() *schedule.Loader {
	return &schedule.Loader{Repositories: repository.NewReader(s.Committer.Client), Cache: s.cache, Progress: s.progress}
}

// plannedRollouts plans what a rollout changes, and proposes nothing.
type plannedRollouts struct {
	*Standalone
	loader *schedule.Loader
}

var _ promote.Rollouts = (*plannedRollouts)(nil)

// Rollout implements [promote.Rollouts].
func (p *plannedRollouts) Rollout(ctx context.Context, environment string) (*schedule.Outcome, error) {
	outcome, err := p.plan(ctx, environment)
	p.board.Scheduled(ledger.CleanRepository(p.ControlPlane), environment, outcome, err, p.Now())
	return outcome, err
}

func (p *plannedRollouts) plan(ctx context.Context, environment string) (*schedule.Outcome, error) {
	drafter := schedule.Drafter{Loader: p.loader, Charts: &sandbox.Runner{}, Schedulers: p.schedulers}
	draft, err := drafter.Draft(ctx, schedule.DraftRequest{Request: schedule.Request{ControlPlane: p.ControlPlane, Environment: environment}})
	if err != nil {
		return nil, err
	}
	outcome := draft.Outcome()
	outcome.PullRequest, err = p.open(ctx, outcome.GitOps, environment)
	return outcome, err
}

// open finds the open pull request of an environment; nil if there is none, or no token for the forge.
func (p *plannedRollouts) open(ctx context.Context, at schedule.Location, environment string) (*forge.PullRequest, error) {
	host, err := p.Forges.Forge(at.Repo)
	if err != nil {
		return nil, nil //nolint:nilerr // a preview does not need a forge
	}
	repo, err := host.Repository(at.Repo)
	if err != nil {
		return nil, err
	}
	open, err := repo.FindPullRequests(ctx, forge.PullRequestFilter{State: forge.Open, Head: pullrequest.HeadBranch(environment), Base: at.Branch, Limit: 1})
	if err != nil || len(open) == 0 {
		return nil, err
	}
	return &open[0], nil
}

// scheduledRollouts schedules environments as a server does.
type scheduledRollouts struct {
	*Standalone
	loader *schedule.Loader

	mu sync.Mutex
	// did lists what was done, by environment; several are scheduled at the same time.
	did map[string][]string
}

var _ promote.Rollouts = (*scheduledRollouts)(nil)

// Rollout implements [promote.Rollouts].
func (s *scheduledRollouts) Rollout(ctx context.Context, environment string) (*schedule.Outcome, error) {
	p := &schedule.Proposer{Drafter: &schedule.Drafter{Loader: s.loader, Charts: &sandbox.Runner{}, Schedulers: s.schedulers}, Committer: s.Committer, Forges: s.Forges}
	outcome, err := p.Round(ctx, schedule.Request{ControlPlane: s.ControlPlane, Environment: environment})
	if outcome != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.did[environment] = outcome.Did
	}
	return outcome, err
}

// all returns what was done in all environments.
func (s *scheduledRollouts) all() []string {
	var lines []string
	for _, environment := range slices.Sorted(maps.Keys(s.did)) {
		for _, line := range s.did[environment] {
			lines = append(lines, environment+": "+line)
		}
	}
	return lines
}

// StandaloneChain returns the chain of an application for a command that runs without a server. Close its promoter.
func StandaloneChain(client *git.Client, d *deliver.Deliverer, l ledger.Ledger, now func() time.Time) *deliver.Chain {
	return &deliver.Chain{
		Deliverer: d, Lines: repository.Lines{Client: client}, Ledger: l, Branches: &repository.Rings{Committer: repository.Committer{Client: client}}, Now: now,
		Promoter: &promote.Promoter{Ledger: l, Ancestry: &repository.Ancestry{Client: client}, Checks: &verify.Runner{}, Now: now},
	}
}
