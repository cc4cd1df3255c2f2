package wiring

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kalypso-io/kalypso/internal/chart/sandbox"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/local"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/external"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/web"
	"github.com/kalypso-io/kalypso/internal/serve/web/trial"
)

// Flows schedules environments and previews pull requests, with the server's access to Git and the forges.
// Each call reads the heads of branches again; objects that are named by their hash are cached.
type Flows struct {
	Client  *git.Client
	Forges  forge.Forges
	Commits repository.Committer

	cache  *fleet.Cache
	memory *schedule.Memory
	// board has the results of the last rounds.
	board *serve.Board
	// open are the open pull requests of control planes and GitOps repositories.
	open web.OpenPullRequests
	// rings caches the commits of rings; see ringCommits.
	rings     *repository.Rings
	ringsOnce sync.Once
	// sandboxes limits the processes that render charts.
	sandboxes sandbox.Pool
	// previewForks allows previews of pull requests from forks.
	previewForks bool
	// people are the users who open pull requests.
	people *forge.People
	// vouched returns who set the values of a pull request that the server opened for a user. Optional.
	vouched func(forge.PullRequest) (editing.Author, bool)
	// schedulers are the external schedulers. Optional.
	schedulers *external.Asker
	// local is the embedded forge. Optional.
	local *local.Forge
	// publisher publishes merged commits; nil publishes nothing.
	publisher *platformPublisher
	// results stores the results of rounds for other replicas; nil without replicas.
	results *results
	// tracing and progress are optional.
	tracing  *tracing
	progress func(what string)
}

var _ serve.Flows = (*Flows)(nil)

// serveLocally adds the local forge, whose repositories are read and written in place.
func (f *Flows) serveLocally(host *local.Forge, at git.Mapping) {
	f.local = host
	f.Forges = append(f.Forges, host)
	f.Client.Map = append(f.Client.Map, at)
	f.Commits.Pushed = func(ctx context.Context, repo string) error {
		if _, err := host.Repository(repo); err != nil {
			return nil //nolint:nilerr // another forge hosts it
		}
		return host.Sync(ctx)
	}
}

// drafter makes drafts for trials and previews. Rounds add the memory.
func (f *Flows) drafter() *schedule.Drafter {
	return &schedule.Drafter{Loader: f.loader(), Charts: f.charts(), Schedulers: f.schedulers}
}

// charts renders charts in processes, of which the server has a limited number.
func (f *Flows) charts() *sandbox.Runner { return &sandbox.Runner{Pool: &f.sandboxes} }

func (f *Flows) loader() *schedule.Loader {
	return &schedule.Loader{Repositories: repository.NewReader(f.Client), Cache: f.cache, Progress: f.progress}
}

// Environments returns the names of a control plane's environments.
func (f *Flows) Environments(ctx context.Context, controlPlane string) ([]string, error) {
	names, problems, err := f.loader().Environments(ctx, schedule.Request{ControlPlane: controlPlane})
	if err != nil {
		err = f.notPushed(controlPlane, err)
		f.board.Unread(controlPlane, err)
		return nil, err
	}
	names = schedule.WithUnreadable(names, problems, f.board.Known(controlPlane))
	f.board.Environments(controlPlane, names)
	return names, nil
}

// notPushed replaces the error of reading a control plane that the local forge is going to have, once it is pushed.
func (f *Flows) notPushed(controlPlane string, err error) error {
	if f.local == nil || !errors.Is(err, git.ErrRepositoryNotFound) && !errors.Is(err, git.ErrEmpty) {
		return err
	}
	if _, elsewhere := f.local.Repository(controlPlane); elsewhere != nil {
		return err
	}
	return fmt.Errorf("%w: push its branches to %s", serve.ErrNotPushed, controlPlane)
}

// Round brings the pull request of an environment up to date.
func (f *Flows) Round(ctx context.Context, controlPlane, environment string) (o *schedule.Outcome, err error) {
	p := &schedule.Proposer{Drafter: f.drafter(), Committer: f.Commits, Forges: f.Forges}
	p.Drafter.Memory = f.memory
	ctx, end := f.tracing.begin(ctx, "round", attribute.String("kalypso.environment", environment))
	defer func() { end(err) }()
	if f.tracing != nil {
		p.Drafter.Trace = f.tracing.part
	}
	inSandbox := sandbox.For(ctx, controlPlane+" "+environment)
	o, err = p.Round(inSandbox, schedule.Request{ControlPlane: controlPlane, Environment: environment})
	if err == nil {
		f.publish(inSandbox, controlPlane, environment, o)
	}
	now := time.Now()
	f.board.Scheduled(controlPlane, environment, o, err, now)
	if f.results != nil && ctx.Err() == nil {
		return o, errors.Join(err, f.results.putRound(ctx, controlPlane, environment, o, err, now))
	}
	return o, err
}

// Changes returns the open pull requests of a control plane; none if no forge hosts it.
func (f *Flows) Changes(ctx context.Context, controlPlane string) ([]forge.PullRequest, error) {
	if _, err := f.Forges.Forge(controlPlane); err != nil {
		return nil, nil //nolint:nilerr // a control plane may be a folder, which has no pull requests
	}
	all, err := (&schedule.Previewer{Forges: f.Forges}).Open(ctx, controlPlane)
	f.open.Listed(web.Listing{Repository: controlPlane, ControlPlane: true, All: all, At: time.Now(), Err: err})
	return all, err
}

// Preview comments on a pull request of a control plane what it changes. It returns nil for one from a fork that is not planned.
func (f *Flows) Preview(ctx context.Context, controlPlane string, change forge.PullRequest) (preview *schedule.Preview, err error) {
	ctx, end := f.tracing.begin(ctx, "preview", attribute.Int("kalypso.change", change.Number))
	defer func() { end(err) }()
	p := &schedule.Previewer{Drafter: f.drafter(), Forges: f.Forges, People: f.people, Vouched: f.vouched, Forks: f.previewForks}
	return p.Preview(sandbox.For(ctx, fmt.Sprintf("%s#%d", controlPlane, change.Number)), controlPlane, change)
}

// trials plans what users try on the pages.
func (f *Flows) trials() *trial.Planner {
	comparisons := &schedule.Comparisons{}
	return &trial.Planner{Plan: func(ctx context.Context, t schedule.PlanRequest) (*schedule.Preview, error) {
		p := &schedule.Previewer{Drafter: f.drafter(), Forges: f.Forges, Forks: f.previewForks}
		p.Drafter.Comparisons = comparisons
		return p.Plan(sandbox.For(ctx, "trials"), t)
	}}
}

// ringCommits derives the commits of rings.
func (f *Flows) ringCommits() *repository.Rings {
	f.ringsOnce.Do(func() { f.rings = &repository.Rings{Committer: f.Commits} })
	return f.rings
}

// platform returns the pipeline of a control plane, for one round. chain has environments without promotion rules.
func (f *Flows) platform(controlPlane string, chain []string, rollouts promote.Rollouts) *promote.Platform {
	return repository.ConnectPlatform(f.ringCommits(), promote.Platform{
		ControlPlane: controlPlane, Chain: chain, Loader: f.loader(), Forges: f.Forges, Rollouts: rollouts,
	})
}
