package plane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/record"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// Record records what the GitOps branches of an environment want, and what happened to their pull requests. It returns
// nil until a round has read the environment.
func (p *Plane) Record(ctx context.Context, environment string) (*record.Summary, error) {
	last := p.Board.Outcome(p.ControlPlane, environment)
	if last == nil || last.Loaded == nil {
		return nil, nil
	}
	s := &record.Summary{}
	branches := p.branchesOf(last.Loaded, s)
	branches = append(branches, p.Promotion.followedBranches(ctx, s)...)
	return s, errors.Join(p.recordBranches(ctx, branches, s), p.recordPullRequests(ctx, last.GitOps.Repo, s))
}

// branchesOf returns the GitOps branches of an environment: those of the platform and of its applications.
func (p *Plane) branchesOf(loaded *schedule.Loaded, s *record.Summary) []record.Branch {
	p.Promotion.Hosts.AddRead(loaded)
	branches, problems := record.Branches(loaded, repository.NewReader(p.Commits.Client).Resolve, p.Promotion.Hosts)
	for _, problem := range problems {
		s.Problems = append(s.Problems, fmt.Sprintf("%s: %s", problem.Position, problem.Message))
	}
	return branches
}

// recordBranches records branches. An application's branch that cannot be read does not block the platform.
func (p *Plane) recordBranches(ctx context.Context, branches []record.Branch, s *record.Summary) error {
	var failures []error
	for _, branch := range branches {
		s.Read = append(s.Read, schedule.Location{Repo: branch.Repository, Branch: branch.Branch})
		outcome, err := p.Promotion.Recorder.Branch(ctx, branch)
		if err == nil {
			s.Add(outcome)
			continue
		}
		if branch.Kind == ledger.BranchApplication {
			s.Problems = append(s.Problems, err.Error())
		} else {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

const (
	// followedInterval is how often the ledger is searched for other branches that clusters follow, which takes long in
	// large fleets.
	followedInterval = 10 * time.Minute
	// followedDelay is when it is searched first. By then the branches of all environments are recorded;
	// before, they would be taken for those of applications.
	followedDelay = time.Minute
)

// followedBranches returns the branches that clusters follow and that are not recorded yet, from time to time.
func (p *Promotion) followedBranches(ctx context.Context, s *record.Summary) []record.Branch {
	if !p.followed.take() {
		return nil
	}
	branches, err := record.Followed(ctx, p.Ledger, p.Hosts)
	if err != nil {
		s.Problems = append(s.Problems, fmt.Sprintf("find the branches that clusters follow: %v", err))
		p.followed.again()
	}
	return branches
}

// turn is whose work is done once in each followedInterval.
type turn struct {
	mu sync.Mutex
	at time.Time
}

// take reports whether it is time. Only one caller gets to do the work.
func (t *turn) take() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.at.IsZero() {
		t.at = time.Now().Add(followedDelay - followedInterval)
	}
	if time.Since(t.at) < followedInterval {
		return false
	}
	t.at = time.Now()
	return true
}

// again takes the turn back, because the work failed.
func (t *turn) again() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at = time.Now().Add(followedDelay - followedInterval)
}

// recordPullRequests records what happened to the pull requests of a GitOps repository; nothing if no forge hosts it.
func (p *Plane) recordPullRequests(ctx context.Context, url string, s *record.Summary) error {
	host, err := p.Forges.Forge(url)
	if err != nil {
		return nil //nolint:nilerr // a plain repository
	}
	repo, err := host.Repository(url)
	if err != nil {
		return err
	}
	listed := &listedChanges{Changes: repo}
	events, err := p.Promotion.Recorder.Changes(ctx, url, listed)
	if p.Listed != nil {
		p.Listed(Listing{Repository: url, All: listed.all, Partial: listed.partial, At: time.Now(), Err: err})
	}
	for _, e := range events {
		s.Did = append(s.Did, fmt.Sprintf("recorded that pull request %d was %s", e.Number, e.Kind))
	}
	return err
}

// listedChanges keeps what a round lists and reads, which has all open pull requests that are known.
type listedChanges struct {
	record.Changes
	all []forge.PullRequest
	// partial reports that there may be older ones.
	partial bool
}

// FindPullRequests implements [record.Changes].
func (l *listedChanges) FindPullRequests(ctx context.Context, f forge.PullRequestFilter) ([]forge.PullRequest, error) {
	found, err := l.Changes.FindPullRequests(ctx, f)
	l.all, l.partial = append(l.all, found...), f.Limit > 0 && len(found) == f.Limit
	return found, err
}

// PullRequest implements [record.Changes].
func (l *listedChanges) PullRequest(ctx context.Context, number int) (forge.PullRequest, error) {
	found, err := l.Changes.PullRequest(ctx, number)
	listed := slices.ContainsFunc(l.all, func(p forge.PullRequest) bool { return p.Number == number })
	if err == nil && !listed {
		l.all = append(l.all, found)
	}
	return found, err
}
