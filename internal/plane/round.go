package plane

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// Environments returns the names of the environments. Those that cannot be read now, but were before, are among them;
// before has the names that are known from elsewhere than the board.
func (p *Plane) Environments(ctx context.Context, before ...string) ([]string, error) {
	names, problems, err := p.Loader().Environments(ctx, schedule.Request{ControlPlane: p.ControlPlane})
	if err != nil {
		return nil, err
	}
	names = schedule.WithUnreadable(names, problems, append(p.Board.Known(p.ControlPlane), before...))
	p.Board.Environments(p.ControlPlane, names)
	return names, nil
}

// Round is a request to [Plane.Round].
type Round struct {
	// Request names the environment. Its control plane defaults to the plane's. // required
	schedule.Request
	// From is read instead of Git. Optional.
	From schedule.Repositories
}

// Round brings the pull request of an environment up to date, and publishes what was merged.
func (p *Plane) Round(ctx context.Context, r Round) (*schedule.Outcome, error) {
	r.ControlPlane = cmp.Or(r.ControlPlane, p.ControlPlane)
	proposer := &schedule.Proposer{Drafter: p.Drafter(), Committer: p.Commits, Forges: p.Forges}
	proposer.Drafter.Memory, proposer.Drafter.Trace = p.Memory, p.Trace
	if r.From != nil {
		proposer.Drafter.Loader.Repositories = r.From
	}
	ctx = p.sharing(ctx, r.ControlPlane+" "+r.Environment)
	o, err := proposer.Round(ctx, r.Request)
	if err == nil {
		p.publish(ctx, r, o)
	}
	p.Board.Scheduled(p.ControlPlane, r.Environment, o, err, time.Now())
	return o, err
}

// View drafts an environment without proposing anything, for a program that another one does the rounds for. It uses
// only recorded answers of external schedulers.
func (p *Plane) View(ctx context.Context, environment string) (*schedule.Draft, error) {
	drafter := p.Drafter()
	drafter.Memory, drafter.Schedulers = p.Memory, nil
	request := schedule.Request{ControlPlane: p.ControlPlane, Environment: environment}
	return drafter.Draft(p.sharing(ctx, p.ControlPlane+" "+environment), schedule.DraftRequest{Request: request})
}

// Changes returns the open pull requests of the control plane; none if no forge hosts it.
func (p *Plane) Changes(ctx context.Context) ([]forge.PullRequest, error) {
	all, err := (&schedule.Previewer{Forges: p.Forges}).Open(ctx, p.ControlPlane)
	if _, elsewhere := p.Forges.Forge(p.ControlPlane); p.Listed != nil && elsewhere == nil {
		p.Listed(Listing{Repository: p.ControlPlane, ControlPlane: true, All: all, At: time.Now(), Err: err})
	}
	return all, err
}

// Preview comments on a pull request of the control plane what it changes. It returns nil for one from a fork that is
// not planned.
func (p *Plane) Preview(ctx context.Context, change forge.PullRequest) (*schedule.Preview, error) {
	previewer := &schedule.Previewer{
		Drafter: p.Drafter(), Forges: p.Forges, People: p.People, Vouched: p.Vouched, Forks: p.Forks,
	}
	return previewer.Preview(p.sharing(ctx, fmt.Sprintf("%s#%d", p.ControlPlane, change.Number)), p.ControlPlane, change)
}

// Plan plans what a user tries, and posts nothing.
func (p *Plane) Plan(
	ctx context.Context, t schedule.PlanRequest, comparisons *schedule.Comparisons) (*schedule.Preview, error,
) {
	previewer := &schedule.Previewer{Drafter: p.Drafter(), Forges: p.Forges, Forks: p.Forks}
	previewer.Drafter.Comparisons = comparisons
	return previewer.Plan(p.sharing(ctx, "trials"), t)
}
