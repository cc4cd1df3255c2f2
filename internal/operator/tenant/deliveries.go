package tenant

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/chart/sandbox"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/hub/record"
	"github.com/kalypso-io/kalypso/internal/operator"
	"github.com/kalypso-io/kalypso/internal/promote/verify"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// deliveries are the applications of a control plane between two rounds. Applications are not trusted: their charts are rendered in processes with
// limits, and they can use only their own repositories and those that the platform team lists for them. The zero value has none.
type deliveries struct {
	applications map[string]*application // by subject
	memory       deliver.Memory
	images       *repository.Images
}

// application is an application between two rounds.
type application struct {
	request deliver.Request
	// state is that after the last round; nil before the first.
	state *query.Application
	// edits are the pull requests of its configuration that were checked.
	edits deliver.CheckedEdits
	// at is when its last round began.
	at time.Time
}

// Deliver implements [operator.Tenant].
func (t *Tenant) Deliver(ctx context.Context) (operator.Deliveries, error) {
	var result operator.Deliveries
	end, err := t.begin()
	if err != nil {
		return result, err
	}
	defer end()
	if t.promotion.chain == nil {
		return result, fmt.Errorf("%w: it is not open", operator.ErrLedger)
	}
	d, err := t.deliverer()
	if err != nil {
		return result, err
	}
	requests, problems, err := d.Loader.Registered(ctx, t.access.Spec.Source.Repository)
	if err != nil {
		return result, err
	}
	for _, p := range problems {
		result.Problems = append(result.Problems, p.Position.String()+": "+p.Message)
	}
	for _, a := range t.register(requests) {
		if ctx.Err() != nil {
			result.Left++
		} else {
			t.deliver(ctx, d, a, &result)
		}
		if a.state != nil {
			result.Applications = append(result.Applications, a.state)
		}
	}
	return result, nil
}

// register returns the applications in the order of their turns: those that had none, and then the one whose turn is longest ago.
func (t *Tenant) register(requests []deliver.Request) []*application {
	was := t.deliveries.applications
	t.deliveries.applications = map[string]*application{}
	var turns []*application
	for _, r := range requests {
		subject := deliver.SubjectOf(r.Source, r.Workload)
		a := was[subject]
		if a == nil {
			a = &application{}
		}
		a.request = r
		t.deliveries.applications[subject] = a
		turns = append(turns, a)
	}
	slices.SortStableFunc(turns, func(a, b *application) int { return a.at.Compare(b.at) })
	return turns
}

// deliver runs a round of an application, and adds what it did.
func (t *Tenant) deliver(ctx context.Context, d *deliver.Deliverer, a *application, result *operator.Deliveries) {
	a.at = time.Now()
	ctx = sandbox.For(ctx, t.access.Name.Namespace)
	add := func(did []string) {
		for _, what := range did {
			result.Did = append(result.Did, a.request.Workload+": "+what)
		}
	}
	found, err := t.promotion.chain.Application(d).Round(ctx, a.request)
	add(found.Did) // even if time ended: it is done
	if ctx.Err() != nil {
		result.Left++
		return
	}
	if found.Promotion != nil {
		result.Wake(found.Promotion.Next)
	}
	result.Wake(found.Next())
	checker := deliver.EditChecker{
		Loader: d.Loader, Forges: t.forges, Forks: t.access.Spec.PlanPullRequests == v1alpha1.PlanAll,
		Author: func(on forge.Forge, change forge.PullRequest) editing.Author {
			return schedule.Author(nil, nil, on, change)
		},
	}
	checked, unchecked := checker.Check(ctx, a.request, &a.edits)
	if err == nil && unchecked != nil && ctx.Err() == nil {
		err = fmt.Errorf("check the pull requests of its configuration: %w", unchecked)
	}
	add(checked)
	a.state = query.Delivered(query.Round{
		ControlPlane: t.access.Spec.Source.Repository, Request: a.request, Found: found, Err: err, At: a.at,
	}, a.state)
}

// maxCharts is the size of the cache of a control plane's charts, in bytes.
const maxCharts = 64 << 20

// deliverer delivers applications, for one round of all. It returns an error until every environment was read: only then is it known which repositories
// are the platform's, and what the platform requires.
func (t *Tenant) deliverer() (*deliver.Deliverer, error) {
	bounds, err := t.bounds()
	if err != nil {
		return nil, err
	}
	cache, err := remote.NewCache(filepath.Join(t.folder, "charts"), maxCharts) // the folder may have been emptied
	if err != nil {
		return nil, errors.New("the cache of charts cannot be opened")
	}
	// Applications name the addresses of charts and images. No credential goes there.
	charts := &remote.Client{Cache: cache, HTTP: (&verify.Runner{Hosts: t.verifyHosts}).Client()}
	if t.deliveries.images == nil {
		t.deliveries.images = &repository.Images{Registry: charts, Changed: t.access.Wake}
	}
	return &deliver.Deliverer{
		Drafter: deliver.Drafter{
			Loader: &deliver.Loader{
				Repositories: repository.NewDeliveryReader(t.client), Charts: repository.Charts{Client: charts}, Cache: t.cache, Allow: bounds.Allow,
			},
			Renderer: &sandbox.Runner{Pool: t.charts}, Memory: &t.deliveries.memory, Images: t.deliveries.images,
			Policies: &deliver.Platform{ControlPlane: t.access.Spec.Source.Repository, Loader: t.loader(nil)},
		},
		Committer: t.commits, Forges: t.forges,
	}, nil
}

// bounds restrict the repositories of applications: to hosts that the platform team's documents name, and not to the platform's repositories.
func (t *Tenant) bounds() (deliver.Bounds, error) {
	hosts, platforms := &record.Hosts{}, []string{t.access.Spec.Source.Repository}
	hosts.Add(t.access.Spec.Source.Repository, t.access.Spec.Forge.URL)
	t.promotion.mu.Lock()
	defer t.promotion.mu.Unlock()
	for _, name := range t.promotion.names {
		last := t.promotion.rounds[name].read
		if last == nil {
			return deliver.Bounds{}, fmt.Errorf("environment %q has not been read yet", name)
		}
		hosts.AddRead(last.Loaded)
		platforms = append(platforms, last.GitOps.Repo, last.Inputs.Branch.Repo, last.Inputs.Main.Repo)
	}
	return deliver.Bounds{Known: hosts.Know, Platforms: platforms}, nil
}
