package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/open"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// lookFlags say whom a command asks, and which control plane it reads beside a ledger: a ledger alone does not know
// what comes next.
type lookFlags struct {
	backend.Flags
	controlPlane string
	chain        []string
	maps         []git.Mapping
}

func (f *lookFlags) bind(cmd *cobra.Command) {
	f.Flags.Bind(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.controlPlane, "control-plane", "", "only this control plane, a `folder or URL`; beside a ledger, it is read as well")
	flags.StringSliceVar(&f.chain, "chain", nil, "beside a ledger: the `environments` one after the other, where they have no rules, as in dev,stage,prod")
	flags.Var((*mapFlag)(&f.maps), "map", "beside a ledger: read the repository `URL=PATH` from a path; may be repeated")
	_ = cmd.MarkFlagDirname("control-plane") // the error only says that the flag does not exist
}

// named is what the answers call the control plane; empty stands for all.
func (f *lookFlags) named() string {
	if fleet.IsLocal(f.controlPlane) {
		return "" // a folder is read, and nothing else beside it
	}
	return ledger.CleanRepository(f.controlPlane)
}

// ask finds whom to ask.
func (f *lookFlags) ask(cmd *cobra.Command, t *terminal.Terminal) (*backend.Fleet, error) {
	if f.controlPlane == "" && (len(f.chain) > 0 || len(f.maps) > 0) {
		return nil, cli.Usage(cmd, "--chain and --map go with --control-plane")
	}
	at, err := f.Resolve(cmd, t)
	if err != nil {
		return nil, err
	}
	local := f.controlPlane != "" && fleet.IsLocal(f.controlPlane)
	switch {
	case at.Server != nil && (local || len(f.chain) > 0 || len(f.maps) > 0):
		return nil, cli.Usage(cmd, "a server reads control planes itself: a folder, --chain and --map go with --ledger")
	case at.Server != nil || f.controlPlane == "":
		return at.Open(cmd.Context(), t)
	}
	l, err := open.Existing(cmd.Context(), at.Ledger)
	if err != nil {
		return nil, err
	}
	look, err := f.open(cmd.Context(), t, l)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &backend.Fleet{
		Querier: &query.Observer{Ledger: l, Fleet: look, Now: t.Now}, Changes: backend.Ticks(backend.PollInterval), Update: look.look,
		Close: func() error { look.session.close(); return l.Close() },
	}, nil
}

// open connects to the control plane. Nothing is read yet.
func (f *lookFlags) open(ctx context.Context, t *terminal.Terminal, l ledger.Ledger) (*looker, error) {
	source := sourceFlags{controlPlane: f.controlPlane, maps: f.maps}
	session, err := source.open(ctx, t)
	if err != nil {
		return nil, err
	}
	look := &looker{session: session, chain: f.chain, forges: environmentForge{env: t.Env}}
	look.promoter = &promote.Promoter{Ledger: l, Ancestry: &repository.Ancestry{Client: session.client}, Now: t.Now}
	look.commits = repository.Committer{Client: session.client, Author: repository.Author(t.Env)}
	return look, nil
}

// looker reads a control plane and says where everything stands, as a round of a server does, without doing anything.
type looker struct {
	session  *session
	chain    []string
	forges   pullrequest.Forges
	commits  repository.Committer
	promoter *promote.Promoter
	found    []query.ControlPlane
}

var _ query.Fleet = (*looker)(nil)

// ControlPlanes implements [query.Fleet]: what the last look found.
func (l *looker) ControlPlanes() []query.ControlPlane { return l.found }

// look reads everything anew.
func (l *looker) look(ctx context.Context) error {
	planned := l.planned()
	outcome, err := l.promoter.Look(ctx, l.platform(planned))
	l.session.progress.End()
	if err != nil {
		return fmt.Errorf("read the control plane: %w", err)
	}
	l.found = []query.ControlPlane{{URL: outcome.Subject, Promotion: outcome, Scheduling: planned.scheduled}}
	return nil
}

// loader reads branches where they are now: what one loader resolved stays.
func (l *looker) loader() *schedule.Loader {
	return &schedule.Loader{
		Repositories: repository.NewReader(l.session.client), Cache: l.session.drafter.Loader.Cache, Progress: l.session.drafter.Loader.Progress,
	}
}

// planned are the rollouts as they would be now.
func (l *looker) planned() *plannedRollouts {
	return &plannedRollouts{
		loader: l.loader(), controlPlane: l.session.request.ControlPlane, forges: l.forges, now: l.promoter.Now,
		scheduled: map[string]*query.Scheduled{},
	}
}

// platform is the control plane as a pipeline, for one round.
func (l *looker) platform(rollouts promote.Rollouts) *promote.Platform {
	return &promote.Platform{
		ControlPlane: l.session.request.ControlPlane, Chain: l.chain,
		Loader: l.loader(), Lines: repository.Lines{Client: l.session.client}, Committer: repository.PromotionCommitter{Committer: l.commits}, Forges: l.forges, Rollouts: rollouts,
	}
}

// plannedRollouts says how far manifests have come by planning them, without proposing anything. Whether people were
// asked to merge them, it finds out where the environment has a token for the forge.
type plannedRollouts struct {
	loader       *schedule.Loader
	controlPlane string
	forges       pullrequest.Forges
	now          func() time.Time

	mu        sync.Mutex
	scheduled map[string]*query.Scheduled
}

var _ promote.Rollouts = (*plannedRollouts)(nil)

// Rollout implements [promote.Rollouts].
func (p *plannedRollouts) Rollout(ctx context.Context, environment string) (*schedule.Outcome, error) {
	outcome, err := p.plan(ctx, environment)
	found := &query.Scheduled{At: p.now(), Err: err, Outcome: outcome}
	if outcome != nil {
		found.Snapshot = outcome.Loaded.Snapshot
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.scheduled[environment] = found
	return outcome, err
}

func (p *plannedRollouts) plan(ctx context.Context, environment string) (*schedule.Outcome, error) {
	drafter := schedule.Drafter{Loader: p.loader}
	draft, err := drafter.Draft(ctx, schedule.DraftRequest{Request: schedule.Request{ControlPlane: p.controlPlane, Environment: environment}})
	if err != nil {
		return nil, err
	}
	outcome := draft.Outcome()
	outcome.PullRequest, err = p.open(ctx, outcome.GitOps, environment)
	return outcome, err
}

// open finds the open change of an environment; nil when there is none, or nobody may ask.
func (p *plannedRollouts) open(ctx context.Context, at schedule.Location, environment string) (*forge.PullRequest, error) {
	host, err := p.forges.Forge(at.Repo)
	if err != nil {
		return nil, nil //nolint:nilerr // a look goes without a forge as well
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
