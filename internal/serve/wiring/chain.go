package wiring

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/hub/record"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/verify"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/serve/web"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

var _ promote.Checks = (*verify.Runner)(nil)

// chains records what was published, and promotes commits along the chains of environments.
type chains struct {
	flows    *Flows
	ledger   ledger.Ledger
	recorder *record.Recorder
	promoter *promote.Promoter
	// explicit are chains of environments without promotion rules, by control plane.
	explicit map[string][]string
	board    *serve.Board
	events   *api.Events
	links    pageLinks
	// hosts are the hosts whose repositories may be read.
	hosts *record.Hosts

	mu sync.Mutex
	// followed is when the ledger was last searched for branches that clusters follow and no environment names.
	followed time.Time
}

var _ serve.Chains = (*chains)(nil)

// wirePromotion wires promotion and the API to the ledger. Reports, commands and verifications wake the keeper.
func (s *Server) wirePromotion(ctx context.Context) error {
	fluxSecret, err := s.sharedSecret(ctx, fluxSecretFile)
	if err != nil {
		return err
	}
	sessionKey, err := s.sharedSecret(ctx, sessionKeyFile)
	if err != nil {
		return err
	}
	verifier, err := NewVerifier(s.Config.Verify, s.Env)
	if err != nil {
		return err
	}
	events := &api.Events{}
	s.Flows.people = NewPeople(s.Config, s.Flows.Forges)
	s.chains = &chains{
		flows: s.Flows, ledger: s.Ledger, explicit: s.Config.Chains, board: s.Flows.board, events: events,
		hosts: knownHosts(s.Config), links: pageLinks(s.Config.URL),
		recorder: &record.Recorder{Repositories: repository.GitOpsBranches{Client: s.Flows.Client}, Ledger: s.Ledger, Now: time.Now},
		promoter: &promote.Promoter{
			Ledger: wakingLedger{s.heard(), s.notifications.Wake}, Ancestry: &repository.Ancestry{Client: s.Flows.Client},
			Checks:  verifier,
			Checked: s.Keeper.RunChain,
			People:  s.Flows.people,
		},
	}
	s.API = &api.Server{
		Observer: &query.Observer{Ledger: s.heard(), Fleet: s.Flows.board, Now: time.Now},
		Control:  &promote.Control{Ledger: s.Ledger, Branches: repository.NewDeliveryReader(s.Flows.Client)},
		Intake:   &ingest.Intake{Ledger: s.Ledger, Stored: s.Keeper.HandleReports},
		Registrar: &ingest.Registrar{
			Ledger: s.Ledger, NewSecret: func(role string) secret.Value { return access.NewToken(access.Role(role)) }, Serves: s.serves, ClusterObject: s.clusterObject,
		},
		Guard: &access.Guard{
			Store: s.Ledger, SignOn: signOn(s.Config.Access.OIDC), Anonymous: anonymous(s.Config), Grants: s.Config.AccessGrants,
			Others: []access.Authenticator{api.FluxSignature{Secret: fluxSecret, Clusters: s.Ledger}},
		},
		Ledger: s.Ledger, Events: events, Log: s.Log, FluxSecret: fluxSecret, SessionKey: sessionKey, Version: s.Version,
		Jobs:          s.chains.promoter.Jobs,
		Rehearse:      s.chains.rehearse,
		OnCommand:     func(subject, _ string) { s.Keeper.RunChain(subject) },
		OnError:       s.disk.note,
		Refuses:       s.recognition.refusal,
		OnApplication: func(controlPlane, subject string) { s.Keeper.Deliver(controlPlane, subject) },
	}
	if err := s.wireDirect(ctx); err != nil {
		return err
	}
	s.onClose(func() { events.Close(); s.chains.promoter.Close() })
	s.Keeper.Chains, s.server.API, s.server.Stopping = s.chains, s.API.Handler(), events.Close
	return nil
}

// knownHosts returns the hosts whose repositories are read if a workload or a cluster names them.
func knownHosts(config *serve.Config) *record.Hosts {
	hosts := &record.Hosts{}
	hosts.Add(config.URL)
	hosts.Add(config.ControlPlanes...)
	hosts.Add(slices.Collect(maps.Keys(config.Map))...)
	for _, f := range config.Forges {
		hosts.Add(f.URL)
	}
	return hosts
}

// Record records what the GitOps branches of an environment want, and what happened to their pull requests.
func (c *chains) Record(ctx context.Context, controlPlane, environment string) (*serve.Recorded, error) {
	last := c.board.Outcome(controlPlane, environment)
	if last == nil || last.Loaded == nil {
		return nil, nil // no round has read the environment yet
	}
	c.hosts.AddRead(last.Loaded)
	branches, problems := record.Branches(last.Loaded, repository.NewReader(c.flows.Client).Resolve, c.hosts)
	recorded := &serve.Recorded{}
	for _, p := range problems {
		recorded.Problems = append(recorded.Problems, fmt.Sprintf("%s: %s", p.Position, p.Message))
	}
	var failures []error
	for _, branch := range append(branches, c.followedBranches(ctx, recorded)...) {
		recorded.Read = append(recorded.Read, schedule.Location{Repo: branch.Repository, Branch: branch.Branch})
		outcome, err := c.recorder.Branch(ctx, branch)
		if err != nil && branch.Kind == ledger.BranchApplication {
			// An application's repository that cannot be read does not block the platform.
			recorded.Problems = append(recorded.Problems, fmt.Sprintf("record branch %q of %s: %v", branch.Branch, branch.Repository, err))
			continue
		}
		if err != nil {
			failures = append(failures, err)
			continue
		}
		recorded.Add(outcome)
	}
	if err := c.recordPullRequests(ctx, last.GitOps.Repo, recorded); err != nil {
		failures = append(failures, err)
	}
	if len(recorded.Did) > 0 {
		c.events.Publish(api.Signal{Type: api.SignalEnvironment, ControlPlane: controlPlane, Environment: environment})
	}
	return recorded, errors.Join(failures...)
}

const (
	// followedInterval is how often the ledger is searched for other branches that clusters follow, which takes long in large fleets.
	followedInterval = 10 * time.Minute
	// followedDelay is when it is searched first. By then the branches of all environments are recorded;
	// before, they would be taken for those of applications.
	followedDelay = time.Minute
)

// followedBranches returns the branches that clusters follow and that are not recorded yet, from time to time.
func (c *chains) followedBranches(ctx context.Context, recorded *serve.Recorded) []record.Branch {
	if !c.searchesFollowed() {
		return nil
	}
	branches, err := record.Followed(ctx, c.ledger, c.hosts)
	if err != nil {
		recorded.Problems = append(recorded.Problems, fmt.Sprintf("find the branches that clusters follow: %v", err))
		c.mu.Lock()
		c.followed = time.Now().Add(followedDelay - followedInterval)
		c.mu.Unlock()
	}
	return branches
}

// searchesFollowed reports whether it is time for a search. Only one caller gets to do it.
func (c *chains) searchesFollowed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.followed.IsZero() {
		c.followed = time.Now().Add(followedDelay - followedInterval)
	}
	if time.Since(c.followed) < followedInterval {
		return false
	}
	c.followed = time.Now()
	return true
}

// recordPullRequests records what happened to the pull requests of a GitOps repository; nothing if no forge hosts it.
func (c *chains) recordPullRequests(ctx context.Context, url string, recorded *serve.Recorded) error {
	host, err := c.flows.Forges.Forge(url)
	if err != nil {
		return nil //nolint:nilerr // a plain repository
	}
	repo, err := host.Repository(url)
	if err != nil {
		return err
	}
	listed := &listedChanges{Changes: repo}
	events, err := c.recorder.Changes(ctx, url, listed)
	c.flows.open.Listed(web.Listing{Repository: url, All: listed.all, Partial: listed.partial, At: time.Now(), Err: err})
	for _, e := range events {
		recorded.Did = append(recorded.Did, fmt.Sprintf("recorded that pull request %d was %s", e.Number, e.Kind))
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

func (l *listedChanges) FindPullRequests(ctx context.Context, f forge.PullRequestFilter) ([]forge.PullRequest, error) {
	found, err := l.Changes.FindPullRequests(ctx, f)
	l.all, l.partial = append(l.all, found...), f.Limit > 0 && len(found) == f.Limit
	return found, err
}

func (l *listedChanges) PullRequest(ctx context.Context, number int) (forge.PullRequest, error) {
	found, err := l.Changes.PullRequest(ctx, number)
	listed := slices.ContainsFunc(l.all, func(p forge.PullRequest) bool { return p.Number == number })
	if err == nil && !listed {
		l.all = append(l.all, found)
	}
	return found, err
}

// Promote promotes the commits of a control plane along the chain of its environments.
func (c *chains) Promote(ctx context.Context, controlPlane string) (*serve.Promoted, error) {
	platform := c.flows.platform(controlPlane, c.explicit[controlPlane], rollouts{c.board, controlPlane})
	platform.Link = c.links.environment
	outcome, err := c.promoter.Round(ctx, platform)
	if outcome == nil {
		return nil, err
	}
	c.board.Promoted(controlPlane, outcome)
	if stored := c.flows.results.putChain(ctx, controlPlane, outcome, c.promoter.OpenJobs(outcome.Subject)); stored != nil && ctx.Err() == nil {
		err = errors.Join(err, stored)
	}
	promoted := &serve.Promoted{Did: outcome.Did, Next: outcome.Next, Environments: outcome.Environments}
	if len(outcome.Did) > 0 {
		for _, e := range outcome.Environments {
			promoted.Moved = append(promoted.Moved, e.Environment)
			c.events.Publish(api.Signal{Type: api.SignalPromotion, ControlPlane: controlPlane, Environment: e.Environment, Commit: e.Commit})
		}
	}
	return promoted, err
}

// rehearse returns the state of a control plane's promotions, and what it would be after commands.
func (c *chains) rehearse(ctx context.Context, controlPlane string, commands ...ledger.Step) (is, would *promote.Outcome, err error) {
	platform := func() *promote.Platform { // it is for one round
		return c.flows.platform(controlPlane, c.explicit[controlPlane], rollouts{c.board, controlPlane})
	}
	if is, err = c.promoter.Preview(ctx, platform()); err == nil {
		would, err = c.promoter.Rehearse(ctx, platform(), commands...)
	}
	return is, would, err
}

// rollouts are the results of the last rounds of a control plane's environments.
type rollouts struct {
	board        *serve.Board
	controlPlane string
}

var _ promote.Rollouts = rollouts{}

// Rollout returns the result of an environment's last scheduling round; nil before the first.
func (r rollouts) Rollout(_ context.Context, environment string) (*schedule.Outcome, error) {
	return r.board.Outcome(r.controlPlane, environment), nil
}
