package plane

import (
	"context"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/record"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/external"
)

// Access is what the work on a control plane reaches. Planes of one process can share everything but the control plane.
type Access struct {
	// ControlPlane is the URL or path of the repository. // required
	ControlPlane string
	// Commits writes to repositories. Its client also reads them. // required
	Commits repository.Committer
	// Forges host them. // required
	Forges pullrequest.Forges
	// Board has the results of the last rounds. // required
	Board *Board
	// Charts renders the charts of templates. Without it, the assignments that use them are held.
	Charts schedule.Renderer
	// Share returns a context with what charts are rendered for, so that a program can share its processes among
	// environments, pull requests and applications. Optional.
	Share func(ctx context.Context, what string) context.Context
	// Cache has the objects that were read, and Memory the drafts of the last rounds. Both are optional.
	Cache  *fleet.Cache
	Memory *schedule.Memory
	// Schedulers are external schedulers. Without it, only their recorded answers are used.
	Schedulers *external.Asker

	// Forks also previews pull requests from forks.
	Forks bool
	// People are the users who open and review pull requests. Optional.
	People *forge.People
	// Vouched returns who set the values of a pull request that a program opened for a user. Optional.
	Vouched func(forge.PullRequest) (editing.Author, bool)

	// Promotion is needed to record and promote.
	Promotion *Promotion
	// Applications is needed, with Promotion, to deliver applications.
	Applications *Applications
	// Publisher publishes merged commits. Optional.
	Publisher *Publisher

	// Trace is called for each part of a round. Optional.
	Trace func(ctx context.Context, name string) (context.Context, func(error))
	// Progress is called with what is read. Optional.
	Progress func(what string)
	// Listed is called with the pull requests that a round listed. Optional.
	Listed func(Listing)
}

// Promotion is what promotion reaches. Planes can share it.
type Promotion struct {
	// Ledger has the steps of promotions, and what clusters report. // required
	Ledger ledger.Ledger
	// Promoter writes to it. // required
	Promoter *promote.Promoter
	// Recorder records what GitOps branches want. // required
	Recorder *record.Recorder
	// Rings derives the commits of rings. // required
	Rings *repository.Rings
	// Hosts are the hosts whose repositories may be read. // required
	Hosts *record.Hosts
	// Chains are environments without promotion rules, by control plane.
	Chains map[string][]string
	// Inline records the branches of an environment whenever promotion needs its result, for a program without rounds
	// that record.
	Inline bool
	// Strict promotes nothing to or from an environment whose last round failed. Otherwise, its last result is used.
	Strict bool
	// Link returns the URL of an environment's page. Optional.
	Link func(environment string) string
	// followed is when the ledger was last searched for branches that clusters follow and no environment names.
	followed turn
}

// Listing are pull requests of a repository, as a round listed them.
type Listing struct {
	Repository   string
	ControlPlane bool
	// All may have pull requests that are not open.
	All []forge.PullRequest
	// Partial reports that older pull requests were not listed.
	Partial bool
	At      time.Time
	Err     error
}

// Plane is one control plane. Its methods can be called concurrently.
type Plane struct{ Access }

// Open returns a plane. It reads nothing yet.
func Open(a Access) *Plane { return &Plane{a} }

// Loader reads the heads of branches, for one round.
func (p *Plane) Loader() *schedule.Loader {
	return &schedule.Loader{Repositories: repository.NewReader(p.Commits.Client), Cache: p.Cache, Progress: p.Progress}
}

// Drafter makes drafts, for one round.
func (p *Plane) Drafter() *schedule.Drafter { return p.drafter(p.Loader()) }

func (p *Plane) drafter(loader *schedule.Loader) *schedule.Drafter {
	return &schedule.Drafter{Loader: loader, Charts: p.Charts, Schedulers: p.Schedulers}
}

// sharing returns a context with what charts are rendered for.
func (p *Plane) sharing(ctx context.Context, what string) context.Context {
	if p.Share == nil {
		return ctx
	}
	return p.Share(ctx, what)
}
