package plane

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// Applications is what the delivery of applications reaches, and what is kept of them between two rounds. Planes can
// share it.
//
// Applications are not trusted: their charts are rendered in processes with limits, and they can use only their own
// repositories and those that the platform team lists for them.
type Applications struct {
	// Charts reads charts, images and signatures from registries. // required
	Charts *remote.Client
	// Renderer renders charts. // required
	Renderer deliver.Renderer
	// Memory has the drafts of the last rounds. Optional.
	Memory *deliver.Memory
	// Scanner runs scans. Optional.
	Scanner deliver.Scanner
	// Images looks up digests of images. Optional.
	Images *repository.Images
	// Publisher publishes merged commits. Optional.
	Publisher *Publisher
	// Link returns the URL of a workload's page. Optional.
	Link func(workload string) string
	// Waits are the applications that wait for scans and digests. // required
	Waits Waits

	mu sync.Mutex
	// known are the registered applications.
	known map[registration]*application
	// listed are the control planes whose registrations were read, with whether it is known of each what it registers.
	listed map[string]bool
}

// registration is the subject of an application, and the control plane that registers it.
type registration struct{ controlPlane, application string }

// application is an application between two rounds.
type application struct {
	// rounds admits one round at a time.
	rounds  *semaphore.Weighted
	request deliver.Request
	// last is the result of the last round of its environments; nil before the first.
	last *deliver.Delivered
	// edits are the pull requests of its configuration that were checked.
	edits deliver.CheckedEdits
}

// application returns an application; nil if it is not registered.
func (a *Applications) application(at registration) *application {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known[at]
}

// Request returns how a registered application is delivered; false if it is not registered.
func (a *Applications) Request(controlPlane, subject string) (deliver.Request, bool) {
	known := a.application(registration{controlPlane, subject})
	if known == nil {
		return deliver.Request{}, false
	}
	return known.request, true
}

// Register reads which applications the control plane registers, and returns their subjects. Problems are invalid
// registrations.
func (p *Plane) Register(ctx context.Context) (subjects []string, problems []fleet.Problem, err error) {
	requests, problems, err := p.ApplicationLoader().Registered(ctx, p.ControlPlane)
	if err != nil {
		return nil, nil, err
	}
	a := p.Applications
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil {
		a.known, a.listed = map[registration]*application{}, map[string]bool{}
	}
	unreachable := func(p fleet.Problem) bool { return p.Kind == fleet.KindUnreachable }
	a.listed[p.ControlPlane] = !slices.ContainsFunc(problems, unreachable)
	for _, r := range requests {
		at := registration{p.ControlPlane, deliver.SubjectOf(r.Source, r.Workload)}
		if was := a.known[at]; was == nil || !reflect.DeepEqual(was.request, r) {
			a.known[at] = &application{rounds: semaphore.NewWeighted(1), request: r}
		}
		subjects = append(subjects, at.application)
	}
	maps.DeleteFunc(a.known, func(at registration, _ *application) bool {
		return at.controlPlane == p.ControlPlane && !slices.Contains(subjects, at.application)
	})
	p.Board.Registered(p.ControlPlane, subjects)
	return subjects, problems, nil
}

// Read reports whether the registrations of all control planes were read, and each application of a name has a result.
func (a *Applications) Read(board *Board, controlPlanes []string, name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if slices.ContainsFunc(controlPlanes, func(url string) bool { return !a.listed[url] }) {
		return false
	}
	all := board.ControlPlanes()
	for at, known := range a.known {
		isIt := func(found *query.Application) bool { return found.Subject == at.application }
		if known.request.Workload == name && !slices.ContainsFunc(all, func(cp query.ControlPlane) bool {
			return cp.URL == at.controlPlane && slices.ContainsFunc(cp.Applications, isIt)
		}) {
			return false
		}
	}
	return true
}

// Delivery is the result of a round of an application.
type Delivery struct {
	// Now and Was are the states after and before the round. Was is nil before the first; both are nil if time ended.
	Now, Was *query.Application
	// Found is what the round found.
	Found *deliver.Delivered
	// Did lists what was done after the round itself: checks of edits, and published versions. Problems are errors of
	// these.
	Did, Problems []string
}

// Deliver runs a round of all environments of an application, and of its chain. It returns nil if the application is no
// longer registered.
func (p *Plane) Deliver(ctx context.Context, subject string) (*Delivery, error) {
	ctx = p.sharing(ctx, subject)
	return p.delivery(ctx, subject, func(chain *deliver.Chain, a *application) (*deliver.Delivered, error) {
		found, err := chain.Round(ctx, a.request)
		if len(found.Environments) > 0 {
			a.last = found
		}
		return found, err
	})
}

// Follow runs a round of an application's chain only, with the last results of its environments. It returns nil before
// the first round.
func (p *Plane) Follow(ctx context.Context, subject string) (*Delivery, error) {
	return p.delivery(ctx, subject, func(chain *deliver.Chain, a *application) (*deliver.Delivered, error) {
		if a.last == nil {
			return nil, nil // its first round is scheduled
		}
		return chain.Follow(ctx, a.request, a.last)
	})
}

// delivery runs one round of an application, and puts the result on the board.
func (p *Plane) delivery(
	ctx context.Context, subject string,
	round func(*deliver.Chain, *application) (*deliver.Delivered, error)) (*Delivery, error,
) {
	at := registration{p.ControlPlane, subject}
	a := p.Applications.application(at)
	if a == nil {
		return nil, nil // it is no longer registered
	}
	if err := a.rounds.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer a.rounds.Release(1)
	ended := p.Applications.Waits.begin()
	chain := p.Chain(a.request.Workload)
	found, err := round(chain, a)
	if found == nil {
		return nil, err
	}
	d := &Delivery{Found: found}
	if ctx.Err() != nil {
		return d, err
	}
	checked, unchecked := p.editChecker(chain.Deliverer.Loader).Check(ctx, a.request, &a.edits)
	p.Applications.Waits.note(at, found, ended)
	d.Now, d.Was = p.Board.Delivered(query.Round{
		ControlPlane: p.ControlPlane, Request: a.request, Found: found, Err: err, At: time.Now(),
	})
	did, problems := p.publishApplication(ctx, at, a.request, found)
	d.Did, d.Problems = slices.Concat(checked, did), problems
	if unchecked != nil && ctx.Err() == nil {
		d.Problems = append(d.Problems, fmt.Sprintf("check the pull requests of its configuration: %v", unchecked))
	}
	return d, err
}

// Chain returns the chain of an application, for one round.
func (p *Plane) Chain(workload string) *deliver.Chain {
	a := p.Applications
	chain := p.Promotion.Chain(&deliver.Deliverer{
		Drafter: deliver.Drafter{
			Loader: p.ApplicationLoader(), Renderer: a.Renderer, Memory: a.Memory,
			Policies: Policies{p.Board, p.ControlPlane}, Scanner: a.Scanner, Images: a.Images,
		},
		Committer: p.Commits, Forges: p.Forges,
	})
	if a.Link != nil {
		chain.Link = func(string) string { return a.Link(workload) }
	}
	return chain
}

// editChecker checks pull requests to configurations, with the loader of a round, which keeps what it read.
func (p *Plane) editChecker(loader *deliver.Loader) *deliver.EditChecker {
	return &deliver.EditChecker{
		Loader: loader, Forges: p.Forges, Forks: p.Forks,
		Author: func(on forge.Forge, change forge.PullRequest) editing.Author {
			return schedule.Author(p.People, p.Vouched, on, change)
		},
	}
}

// ApplicationLoader reads the current heads of branches, for one round.
func (p *Plane) ApplicationLoader() *deliver.Loader {
	return &deliver.Loader{
		Repositories: repository.NewDeliveryReader(p.Commits.Client),
		Charts:       repository.Charts{Client: p.Applications.Charts}, Cache: p.Cache,
		Allow: func(r deliver.Request, repository string) error { return p.bounds().Allow(r, repository) },
	}
}

// bounds restricts applications: to hosts that the platform team's documents name, and not to the platform's
// repositories, which are known once rounds have read them.
func (p *Plane) bounds() deliver.Bounds {
	urls := []string{p.ControlPlane}
	for _, plane := range p.Board.ControlPlanes() {
		urls = append(urls, plane.URL)
		for _, last := range plane.Scheduling {
			if last == nil || last.Outcome == nil {
				continue
			}
			urls = append(urls, last.Outcome.GitOps.Repo, last.Outcome.Inputs.Branch.Repo, last.Outcome.Inputs.Main.Repo)
		}
	}
	return deliver.Bounds{Known: p.Promotion.Hosts.Know, Platforms: urls}
}

// Request returns how an application is delivered. Another program may run its rounds.
func (p *Plane) Request(ctx context.Context, subject string) (deliver.Request, error) {
	if known, ok := p.Applications.Request(p.ControlPlane, subject); ok {
		return known, nil
	}
	all, _, err := p.ApplicationLoader().Registered(ctx, p.ControlPlane)
	i := slices.IndexFunc(all, func(r deliver.Request) bool { return deliver.SubjectOf(r.Source, r.Workload) == subject })
	if err == nil && i < 0 {
		err = query.ErrNotRead
	}
	if err != nil {
		return deliver.Request{}, err
	}
	return all[i], nil
}

// Past answers questions about the history of applications.
func (p *Plane) Past() *deliver.Past {
	return &deliver.Past{Loader: p.ApplicationLoader(), Histories: repository.NewDeliveryReader(p.Commits.Client)}
}

// alone waits until no round of an application runs in this process, and keeps others from starting. Call done at the
// end. Rounds of another program are not waited for: the one that loses a race reads again.
func (p *Plane) alone(ctx context.Context, subject string) (done func(), err error) {
	a := p.Applications.application(registration{p.ControlPlane, subject})
	if a == nil {
		return func() {}, nil
	}
	if err := a.rounds.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() { a.rounds.Release(1) }, nil
}
