package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/record"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// chains is the work of the server on what was published, wired to the ledger, Git and the forges.
type chains struct {
	flows    *flows
	ledger   ledger.Ledger
	recorder *record.Recorder
	promoter *promote.Promoter
	// explicit are chains of environments without rules of their own, by control plane.
	explicit map[string][]string
	board    *serve.Board
	events   *api.Events
	links    pageLinks
	// hosts are those whose repositories are read.
	hosts *record.Hosts

	mu sync.Mutex
	// followed is when it was last looked at what clusters follow that nobody wants there.
	followed time.Time
}

var _ serve.Chains = (*chains)(nil)

// Record notes what the GitOps branches of an environment want, and what happened to its changes.
func (c *chains) Record(ctx context.Context, controlPlane, environment string) (*serve.Recorded, error) {
	last := c.board.Outcome(controlPlane, environment)
	if last == nil || last.Loaded == nil {
		return nil, nil // nothing was read yet
	}
	c.hosts.AddRead(last.Loaded)
	branches, problems := record.Branches(last.Loaded, repository.NewReader(c.flows.client).Resolve, c.hosts)
	recorded := &serve.Recorded{}
	for _, p := range problems {
		recorded.Problems = append(recorded.Problems, fmt.Sprintf("%s: %s", p.Position, p.Message))
	}
	var failures []error
	for _, branch := range append(branches, c.others(ctx, recorded)...) {
		recorded.Read = append(recorded.Read, schedule.Location{Repo: branch.Repository, Branch: branch.Branch})
		outcome, err := c.recorder.Branch(ctx, branch)
		if err != nil && branch.Kind == ledger.BranchApplication {
			// An application's repository that cannot be read is no reason not to promote the platform.
			recorded.Problems = append(recorded.Problems, fmt.Sprintf("record branch %q of %s: %v", branch.Branch, branch.Repository, err))
			continue
		}
		if err != nil {
			failures = append(failures, err)
			continue
		}
		recorded.Add(outcome)
	}
	if err := c.changes(ctx, last.GitOps.Repo, recorded); err != nil {
		failures = append(failures, err)
	}
	if len(recorded.Did) > 0 {
		c.events.Publish(api.Signal{Type: api.SignalEnvironment, ControlPlane: controlPlane, Environment: environment})
	}
	return recorded, errors.Join(failures...)
}

// followedOften is how often it is looked at what clusters follow besides: that takes a while where there are many.
const followedOften = 10 * time.Minute

// followedFirst is how long it takes until that is looked at for the first time: by then the branches of all environments
// are recorded. What no environment names is taken for an application's.
const followedFirst = time.Minute

// others are branches that clusters follow and nobody recorded yet.
func (c *chains) others(ctx context.Context, recorded *serve.Recorded) []record.Branch {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.followed.IsZero() {
		c.followed = time.Now().Add(followedFirst - followedOften)
	}
	if time.Since(c.followed) < followedOften {
		return nil
	}
	branches, err := record.Followed(ctx, c.ledger, c.hosts)
	if err != nil {
		recorded.Problems = append(recorded.Problems, fmt.Sprintf("find what clusters follow: %v", err))
		return nil
	}
	c.followed = time.Now()
	return branches
}

// changes notes what happened to the changes of a GitOps repository; of one that no forge hosts there are none.
func (c *chains) changes(ctx context.Context, url string, recorded *serve.Recorded) error {
	host, err := c.flows.forges.Forge(url)
	if err != nil {
		return nil //nolint:nilerr // a plain repository
	}
	repo, err := host.Repository(url)
	if err != nil {
		return err
	}
	events, err := c.recorder.Changes(ctx, url, repo)
	for _, e := range events {
		recorded.Did = append(recorded.Did, fmt.Sprintf("noted that change %d was %s", e.Number, e.Kind))
	}
	return err
}

// Promote moves the commits of a control plane along the chain of its environments.
func (c *chains) Promote(ctx context.Context, controlPlane string) (*serve.Promoted, error) {
	platform := c.flows.platform(controlPlane, c.explicit[controlPlane], rollouts{c.board, controlPlane})
	platform.Link = c.links.environment
	outcome, err := c.promoter.Round(ctx, platform)
	if outcome == nil {
		return nil, err
	}
	c.board.Promoted(controlPlane, outcome)
	promoted := &serve.Promoted{Did: outcome.Did, Next: outcome.Next, Environments: outcome.Environments}
	if len(outcome.Did) > 0 {
		for _, e := range outcome.Environments {
			promoted.Moved = append(promoted.Moved, e.Environment)
			c.events.Publish(api.Signal{Type: api.SignalPromotion, ControlPlane: controlPlane, Environment: e.Environment, Commit: e.Commit})
		}
	}
	return promoted, err
}

// rollouts are what the last rounds of a control plane's environments found.
type rollouts struct {
	board        *serve.Board
	controlPlane string
}

var _ promote.Rollouts = rollouts{}

// Rollout returns what the last scheduling round of an environment found; nil when there was none yet.
func (r rollouts) Rollout(_ context.Context, environment string) (*schedule.Outcome, error) {
	return r.board.Outcome(r.controlPlane, environment), nil
}
