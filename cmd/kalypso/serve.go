package main

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/local"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve"
)

// flows is the work of the server, wired to Git and the forges.
// Each piece of work reads the heads of branches anew; what is the same by its hash is kept.
type flows struct {
	client  *git.Client
	forges  forges
	commits repository.Committer
	cache   *fleet.Cache
	memory  *schedule.Memory
	// board has what the last rounds found.
	board *serve.Board
	// previewForks is whether changes from forks are planned.
	previewForks bool
	// tracing shows where the time goes; nil for nobody.
	tracing *tracing
}

var _ serve.Flows = (*flows)(nil)

// serveLocally adds the local forge, whose repositories are read and written in place.
func (f *flows) serveLocally(host *local.Forge, at git.Mapping) {
	f.forges = append(f.forges, host)
	f.client.Map = append(f.client.Map, at)
	f.commits.Pushed = func(ctx context.Context, repo string) error {
		if _, err := host.Repository(repo); err != nil {
			return nil //nolint:nilerr // it is on another forge
		}
		return host.Sync(ctx)
	}
}

// drafter makes drafts for trials and previews. Rounds add the memory.
func (f *flows) drafter() *schedule.Drafter { return &schedule.Drafter{Loader: f.loader()} }

func (f *flows) loader() *schedule.Loader {
	return &schedule.Loader{Repositories: repository.NewReader(f.client), Cache: f.cache}
}

// Environments returns the names of a control plane's environments.
func (f *flows) Environments(ctx context.Context, controlPlane string) ([]string, error) {
	names, _, err := f.loader().Environments(ctx, schedule.Request{ControlPlane: controlPlane})
	if err != nil {
		f.board.Unread(controlPlane, err)
		return nil, err
	}
	f.board.Environments(controlPlane, names)
	return names, nil
}

// Round makes the change of an environment what it should be.
func (f *flows) Round(ctx context.Context, controlPlane, environment string) (o *schedule.Outcome, err error) {
	p := &schedule.Proposer{Drafter: f.drafter(), Committer: f.commits, Forges: f.forges}
	p.Drafter.Memory = f.memory
	if f.tracing != nil {
		var end func(error)
		ctx, end = f.tracing.begin(ctx, "round", attribute.String("kalypso.environment", environment))
		defer func() { end(err) }()
		p.Drafter.Trace = f.tracing.part
	}
	o, err = p.Round(ctx, schedule.Request{ControlPlane: controlPlane, Environment: environment})
	f.board.Scheduled(controlPlane, environment, o, err, time.Now())
	return o, err
}

// Changes returns the open changes of a control plane; none where no forge hosts it.
func (f *flows) Changes(ctx context.Context, controlPlane string) ([]forge.PullRequest, error) {
	host, err := f.forges.Forge(controlPlane)
	if err != nil {
		return nil, nil //nolint:nilerr // a control plane may lie where there are no changes, such as a folder
	}
	repo, err := host.Repository(controlPlane)
	if err != nil {
		return nil, err
	}
	return repo.FindPullRequests(ctx, forge.PullRequestFilter{State: forge.Open})
}

// Preview says on a change of a control plane what it would do; nil for one from a fork that is not planned.
func (f *flows) Preview(ctx context.Context, controlPlane string, change forge.PullRequest) (preview *schedule.Preview, err error) {
	if f.tracing != nil {
		var end func(error)
		ctx, end = f.tracing.begin(ctx, "preview", attribute.Int("kalypso.change", change.Number))
		defer func() { end(err) }()
	}
	p := &schedule.Previewer{Drafter: f.drafter(), Forges: f.forges, Forks: f.previewForks}
	return p.Preview(ctx, controlPlane, change)
}
