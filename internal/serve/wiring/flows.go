package wiring

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kalypso-io/kalypso/internal/chart/sandbox"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/local"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/plane"
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
	board *plane.Board
	// open are the open pull requests of control planes and GitOps repositories.
	open web.OpenPullRequests
	// promotion and applications are nil until the ledger is open.
	promotion    *plane.Promotion
	applications *plane.Applications
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
	publisher *plane.Publisher
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

// plane returns a control plane, with the access of the server.
func (f *Flows) plane(controlPlane string) *plane.Plane {
	a := plane.Access{
		ControlPlane: controlPlane, Commits: f.Commits, Forges: f.Forges, Board: f.board, Charts: f.charts(),
		Share: sandbox.For, Cache: f.cache, Memory: f.memory,
		Schedulers: f.schedulers, Forks: f.previewForks, People: f.people, Vouched: f.vouched, Promotion: f.promotion,
		Applications: f.applications, Publisher: f.publisher,
		Progress: f.progress, Listed: func(l plane.Listing) { f.open.Listed(web.Listing(l)) },
	}
	if f.tracing != nil {
		a.Trace = f.tracing.part
	}
	return plane.Open(a)
}

// charts renders charts in processes, of which the server has a limited number.
func (f *Flows) charts() *sandbox.Runner { return &sandbox.Runner{Pool: &f.sandboxes} }

// Environments returns the names of a control plane's environments.
func (f *Flows) Environments(ctx context.Context, controlPlane string) ([]string, error) {
	names, err := f.plane(controlPlane).Environments(ctx)
	if err != nil {
		err = f.notPushed(controlPlane, err)
		f.board.Unread(controlPlane, err)
	}
	return names, err
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
	ctx, end := f.tracing.begin(ctx, "round", attribute.String("kalypso.environment", environment))
	defer func() { end(err) }()
	o, err = f.plane(controlPlane).Round(ctx, plane.Round{Request: schedule.Request{Environment: environment}})
	if f.results != nil && ctx.Err() == nil {
		return o, errors.Join(err, f.results.putRound(ctx, controlPlane, environment, o, err, time.Now()))
	}
	return o, err
}

// Changes returns the open pull requests of a control plane; none if no forge hosts it.
func (f *Flows) Changes(ctx context.Context, controlPlane string) ([]forge.PullRequest, error) {
	return f.plane(controlPlane).Changes(ctx)
}

// Preview comments on a pull request of a control plane what it changes. It returns nil for one from a fork that is not planned.
func (f *Flows) Preview(
	ctx context.Context, controlPlane string, change forge.PullRequest) (preview *schedule.Preview, err error,
) {
	ctx, end := f.tracing.begin(ctx, "preview", attribute.Int("kalypso.change", change.Number))
	defer func() { end(err) }()
	return f.plane(controlPlane).Preview(ctx, change)
}

// trials plans what users try on the pages.
func (f *Flows) trials() *trial.Planner {
	comparisons := &schedule.Comparisons{}
	return &trial.Planner{Plan: func(ctx context.Context, t schedule.PlanRequest) (*schedule.Preview, error) {
		return f.plane(t.ControlPlane).Plan(ctx, t, comparisons)
	}}
}
