package wiring

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/chart/sandbox"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/check/scanner"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/hub/record"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/verify"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// deliveries delivers the registered applications that have a Delivery. Applications are not trusted: their charts are rendered in
// processes with limits, and they can use only their own repositories and those that the platform team lists for them.
type deliveries struct {
	flows    *Flows
	ledger   ledger.Ledger
	promoter *promote.Promoter
	hosts    *record.Hosts
	charts   *remote.Client
	renderer deliver.Renderer
	memory   *deliver.Memory
	events   *api.Events
	links    pageLinks
	// scanner runs scans; nil runs none.
	scanner *scanner.Scanner
	scans   scanWaits
	// publisher publishes what was merged, as made by this version of the program; nil publishes nothing.
	publisher *publisher
	version   string
	// images looks up digests; a digest that is found later wakes the keeper.
	images *repository.Images

	mu sync.Mutex
	// known are the registered applications.
	known map[deliveredTo]*registeredApplication
	// listed are the control planes whose registrations were read, with whether it is known of each what it registers.
	listed map[string]bool
}

var _ serve.Deliveries = (*deliveries)(nil)

// deliveredTo is the subject of an application, and the control plane that registers it.
type deliveredTo struct{ controlPlane, application string }

// registeredApplication is an application between two rounds.
type registeredApplication struct {
	// rounds admits one round at a time.
	rounds  *semaphore.Weighted
	request deliver.Request
	// last is the result of the last round of its environments; nil before the first.
	last *deliver.Delivered
	// edits are the pull requests of its configuration that were checked.
	edits deliver.CheckedEdits
}

// wireDeliveries wires the delivery of applications. The end of a scan wakes the keeper.
func (s *Server) wireDeliveries() error {
	d, err := newDeliveries(s.Config, s.Flows, s.chains, s.Keeper)
	if err != nil {
		return err
	}
	d.version = s.Version
	s.onClose(d.scanner.Close)
	s.Keeper.Deliveries, s.API.Observer.Histories, s.API.RehearseApplication = d, newHistories(d), d.rehearse
	return nil
}

func newDeliveries(config *serve.Config, flows *Flows, chains *chains, keeper *serve.Keeper) (*deliveries, error) {
	cache, err := remote.NewCache(filepath.Join(config.Data, "charts"), 0)
	if err != nil {
		return nil, fmt.Errorf("open the chart cache: %w", err)
	}
	d := &deliveries{
		flows: flows, ledger: chains.ledger, promoter: chains.promoter, hosts: chains.hosts, events: chains.events, links: pageLinks(config.URL),
		charts:   &remote.Client{Cache: cache, HTTP: (&verify.Runner{Hosts: config.Verify.Hosts}).Client(), Credential: remote.EnvironmentCredential(flows.Client.Env)},
		renderer: flows.charts(), memory: &deliver.Memory{}, scans: scanWaits{wake: keeper.Deliver},
	}
	d.scanner, err = newScanner(config.Data, config.Verify.Programs, d.charts, d.charts, d.scans.changed)
	if err != nil {
		return nil, err
	}
	d.images = &repository.Images{Registry: d.charts, Changed: d.scans.changed}
	d.publisher, err = newPublisher(config.Publish, flows.Client.Env)
	return d, err
}

// Registered returns the applications of a control plane.
func (d *deliveries) Registered(ctx context.Context, controlPlane string) (*serve.Registered, error) {
	requests, problems, err := d.loader(controlPlane).Registered(ctx, controlPlane)
	if err != nil {
		return nil, err
	}
	registered := &serve.Registered{}
	for _, p := range problems {
		registered.Problems = append(registered.Problems, p.Position.String()+": "+p.Message)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil {
		d.known, d.listed = map[deliveredTo]*registeredApplication{}, map[string]bool{}
	}
	d.listed[controlPlane] = !slices.ContainsFunc(problems, func(p fleet.Problem) bool { return p.Kind == fleet.KindUnreachable })
	for _, r := range requests {
		at := deliveredTo{controlPlane, deliver.SubjectOf(r.Source, r.Workload)}
		if a := d.known[at]; a == nil || !reflect.DeepEqual(a.request, r) {
			d.known[at] = &registeredApplication{rounds: semaphore.NewWeighted(1), request: r}
		}
		registered.Applications = append(registered.Applications, at.application)
	}
	maps.DeleteFunc(d.known, func(at deliveredTo, _ *registeredApplication) bool {
		return at.controlPlane == controlPlane && !slices.Contains(registered.Applications, at.application)
	})
	d.flows.board.Registered(controlPlane, registered.Applications)
	return registered, nil
}

// Deliver runs a round of all environments of an application, and of its chain.
func (d *deliveries) Deliver(ctx context.Context, controlPlane, application string) (*serve.Delivered, error) {
	ctx = sandbox.For(ctx, application)
	return d.round(ctx, deliveredTo{controlPlane, application}, func(chain *deliver.Chain, a *registeredApplication) (*deliver.Delivered, error) {
		found, err := chain.Round(ctx, a.request)
		if len(found.Environments) > 0 {
			a.last = found
		}
		return found, err
	})
}

// Follow runs a round of the chain only.
func (d *deliveries) Follow(ctx context.Context, controlPlane, application string) (*serve.Delivered, error) {
	return d.round(ctx, deliveredTo{controlPlane, application}, func(chain *deliver.Chain, a *registeredApplication) (*deliver.Delivered, error) {
		if a.last == nil {
			return nil, nil // its first round is scheduled
		}
		return chain.Follow(ctx, a.request, a.last)
	})
}

// rehearse returns what commands would do to an application.
func (d *deliveries) rehearse(ctx context.Context, controlPlane, application string, commands ...ledger.Step) (*deliver.Rehearsed, error) {
	d.mu.Lock()
	a := d.known[deliveredTo{controlPlane, application}]
	d.mu.Unlock()
	if a == nil {
		return nil, fmt.Errorf("%w: this server does not deliver %s", ledger.ErrNotFound, application)
	}
	if err := a.rounds.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer a.rounds.Release(1)
	if a.last == nil {
		return nil, fmt.Errorf("%w: the first round of the application has not ended, or another server delivers it", ledger.ErrInvalid)
	}
	return d.chain(controlPlane, a.request.Workload).Rehearse(sandbox.For(ctx, application), a.request, a.last, commands...)
}

// round runs one round of an application, and puts the result on the board.
func (d *deliveries) round(
	ctx context.Context, at deliveredTo, step func(*deliver.Chain, *registeredApplication) (*deliver.Delivered, error),
) (*serve.Delivered, error) {
	d.mu.Lock()
	a := d.known[at]
	d.mu.Unlock()
	if a == nil {
		return nil, nil // it is no longer registered
	}
	if err := a.rounds.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer a.rounds.Release(1)
	ended := d.scans.begin()
	chain := d.chain(at.controlPlane, a.request.Workload)
	found, err := step(chain, a)
	if found == nil || ctx.Err() != nil {
		return nil, err
	}
	checked, unchecked := d.editChecker(chain.Deliverer.Loader).Check(ctx, a.request, &a.edits)
	d.scans.note(at, found, ended)
	now, was := d.flows.board.Delivered(query.Round{ControlPlane: at.controlPlane, Request: a.request, Found: found, Err: err, At: time.Now()})
	if !now.Same(was) {
		d.events.Publish(api.Signal{Type: api.SignalApplication, ControlPlane: at.controlPlane, Application: now.Name, Commit: now.Source.Commit})
	}
	if stored := d.flows.results.putApplication(ctx, now, d.promoter.OpenJobs(at.application)); stored != nil && ctx.Err() == nil {
		err = errors.Join(err, stored)
	}
	result := &serve.Delivered{Application: now, Did: found.Did, Read: found.Read(), Again: found.Next()}
	for _, environment := range slices.Sorted(maps.Keys(found.Errors)) {
		if errors.Is(found.Errors[environment], serve.ErrNotRead) {
			continue
		}
		result.Problems = append(result.Problems, fmt.Sprintf("environment %q: %v", environment, found.Errors[environment]))
	}
	if found.Promotion != nil {
		result.Next = found.Promotion.Next
	}
	did, problems := d.publish(ctx, at, a.request, found)
	result.Did, result.Problems = slices.Concat(result.Did, checked, did), append(result.Problems, problems...)
	if unchecked != nil && ctx.Err() == nil {
		result.Problems = append(result.Problems, unchecked.Error())
	}
	return result, err
}

// chain returns the chain of an application, for one round. Its statuses link to the workload's page.
func (d *deliveries) chain(controlPlane, workload string) *deliver.Chain {
	return &deliver.Chain{
		Deliverer: &deliver.Deliverer{
			Drafter: deliver.Drafter{
				Loader: d.loader(controlPlane), Renderer: d.renderer, Memory: d.memory, Policies: boardPolicies{d.flows.board, controlPlane},
				Scanner: d.scanner, Images: d.images,
			},
			Committer: d.flows.Commits, Forges: d.flows.Forges,
		},
		Promoter: d.promoter, Lines: repository.Lines{Client: d.flows.Client}, Ledger: d.ledger, Branches: d.flows.ringCommits(),
		Link: func(string) string { return d.links.workload(workload) },
	}
}

// editChecker checks pull requests to configurations, with the loader of a round, which keeps what it read.
func (d *deliveries) editChecker(loader *deliver.Loader) *deliver.EditChecker {
	f := d.flows
	return &deliver.EditChecker{
		Loader: loader, Forges: f.Forges, Forks: f.previewForks,
		Author: func(on forge.Forge, change forge.PullRequest) editing.Author {
			return schedule.Author(f.people, f.vouched, on, change)
		},
	}
}

// loader reads the current heads of branches.
func (d *deliveries) loader(controlPlane string) *deliver.Loader {
	return &deliver.Loader{
		Repositories: repository.NewDeliveryReader(d.flows.Client), Charts: repository.Charts{Client: d.charts}, Cache: d.flows.cache,
		Allow: func(r deliver.Request, repository string) error { return d.bounds(controlPlane).Allow(r, repository) },
	}
}

// bounds restricts the applications of a control plane. The platform's repositories are known once rounds have read them.
func (d *deliveries) bounds(controlPlane string) deliver.Bounds {
	urls := []string{controlPlane}
	for _, plane := range d.flows.board.ControlPlanes() {
		urls = append(urls, plane.URL)
		for _, last := range plane.Scheduling {
			if last == nil || last.Outcome == nil {
				continue
			}
			urls = append(urls, last.Outcome.GitOps.Repo, last.Outcome.Inputs.Branch.Repo, last.Outcome.Inputs.Main.Repo)
		}
	}
	return deliver.Bounds{Known: d.hosts.Know, Platforms: urls}
}

// boardPolicies are the check policies of a control plane's environments, as the last rounds read them.
type boardPolicies struct {
	board        *serve.Board
	controlPlane string
}

var _ deliver.Policies = boardPolicies{}

// Policy implements [deliver.Policies]. Until an environment was read, the error is [serve.ErrNotRead], and nothing is proposed there.
func (p boardPolicies) Policy(_ context.Context, environment string) (check.Policy, []fleet.Problem, error) {
	last := p.board.Outcome(p.controlPlane, environment)
	if last == nil || last.Loaded == nil {
		return check.Policy{}, nil, serve.ErrNotRead
	}
	policy, problems := check.PolicyOf(last.Loaded.Snapshot)
	return policy, problems, nil
}

// Rights implements [deliver.Policies].
func (p boardPolicies) Rights(_ context.Context, environment, workload string) (map[string]check.Rights, error) {
	last := p.board.Outcome(p.controlPlane, environment)
	if last == nil || last.Loaded == nil || last.Bundle == nil {
		return nil, serve.ErrNotRead
	}
	return deliver.Rights(last.Loaded.Snapshot, last.Bundle.Decisions, workload), nil
}

// Rings implements [deliver.Policies].
func (p boardPolicies) Rings(_ context.Context, environment string) ([]fleet.Stage, error) {
	last := p.board.Outcome(p.controlPlane, environment)
	if last == nil || last.Bundle == nil {
		return nil, serve.ErrNotRead
	}
	return deliver.StagesOf(last.Bundle.Published())
}

var _ deliver.Depending = boardPolicies{}

// Dependencies implements [deliver.Depending].
func (p boardPolicies) Dependencies(_ context.Context, environment string) (*deliver.Dependencies, error) {
	last := p.board.Outcome(p.controlPlane, environment)
	if last == nil || last.Loaded == nil || last.Bundle == nil {
		return nil, serve.ErrNotRead
	}
	away := map[string]bool{}
	for _, cp := range p.board.ControlPlanes() {
		if cp.URL != p.controlPlane {
			continue
		}
		for _, a := range cp.Applications {
			for _, e := range a.Environments {
				if e.Environment != environment || e.Detail == nil {
					continue
				}
				for _, t := range e.Detail.Pinned {
					away[a.Name+"/"+t.Name] = t.Uninstalled
				}
			}
		}
	}
	return &deliver.Dependencies{
		Snapshot: last.Loaded.Snapshot, Decisions: last.Bundle.Decisions, Uninstalled: func(workload, target string) bool { return away[workload+"/"+target] },
	}, nil
}
