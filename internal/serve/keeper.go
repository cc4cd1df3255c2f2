package serve

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// Flows is the work that a server does. Every method may be called at any time, by several goroutines, and again.
type Flows interface {
	// Environments returns the names of a control plane's environments.
	Environments(ctx context.Context, controlPlane string) ([]string, error)
	// Round makes the change of an environment what it should be.
	Round(ctx context.Context, controlPlane, environment string) (*schedule.Outcome, error)
	// Changes returns the open changes of a control plane.
	Changes(ctx context.Context, controlPlane string) ([]forge.PullRequest, error)
	// Preview says on a change of a control plane what it would do. It returns nil for a change that it does not plan.
	Preview(ctx context.Context, controlPlane string, change forge.PullRequest) (*schedule.Preview, error)
}

// task is what is to be done.
type task string

const (
	// lookAround finds the environments and changes of a control plane, and looks at all of them.
	lookAround task = "control plane"
	// lookAtChanges finds the open changes of a control plane, and previews those that moved.
	lookAtChanges task = "changes"
	doRound       task = "environment"
	doPreview     task = "change"
	// doRecord notes what the GitOps branches of an environment want.
	doRecord task = "branches"
	// doPromote moves the commits of a control plane along its chain.
	doPromote task = "chain"
	// lookAtApplications finds the applications that a control plane registers.
	lookAtApplications task = "applications"
	// doDeliver keeps the changes of an application what they should be, and moves its commits.
	doDeliver task = "application"
	// doFollow moves the commits of an application, after clusters or people said something.
	doFollow task = "application chain"
)

// item is one piece of work. Equal items wait in the queue only once.
type item struct {
	task         task
	controlPlane string
	environment  string // of a round, and of a record
	change       int    // of a preview
	application  string // its subject
}

// attributes say in logs what an item is about.
func (i item) attributes() []any {
	about := []any{"controlPlane", i.controlPlane}
	switch i.task {
	case doRound, doRecord:
		return append(about, "environment", i.environment)
	case doPreview:
		return append(about, "change", i.change)
	case doDeliver, doFollow:
		return append(about, "application", i.application)
	}
	return about
}

// Keeper runs the rounds of control planes.
type Keeper struct {
	// Flows do the work. // required
	Flows Flows
	// Chains follow what was published; nil when nobody does.
	Chains Chains
	// Deliveries is the work on applications; nil when nobody does it.
	Deliveries Deliveries
	// ControlPlanes are their URLs. // required
	ControlPlanes []string
	// Poll is how often everything is looked at, whether events come or not; each time up to a fifth earlier or later,
	// so that servers do not move in step. 0 means one minute.
	Poll time.Duration
	// Workers is how many items are worked on at once. 0 means four.
	Workers int
	// Timeout bounds the work on one item. 0 means ten minutes.
	Timeout time.Duration
	// Log is told what happens. // required
	Log *slog.Logger
	// Metrics count it; nil for none.
	Metrics *Metrics

	queue workqueue.TypedRateLimitingInterface[item]

	mu sync.Mutex
	// rounds are what the last round of each environment found.
	rounds map[item]found
	// changes are the open changes of each control plane, by number.
	changes map[string]map[int]forge.PullRequest
	// looks are how long the last look at the chain of each control plane took.
	looks map[string]time.Duration
	// seen are the environments of the control planes that were looked at; when all were, the server is ready.
	seen map[string][]string
	// applications are those that each control plane registers.
	applications map[string][]string
}

// The pauses before an item that failed is tried again.
const (
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
)

// Run works until the context ends, and returns when the work that was begun is done or abandoned.
func (k *Keeper) Run(ctx context.Context) {
	k.start()
	var wait sync.WaitGroup
	for range cmp.Or(k.Workers, 4) {
		wait.Go(func() {
			for k.next(ctx) {
			}
		})
	}
	wait.Go(func() { k.poll(ctx) })
	<-ctx.Done()
	k.queue.ShutDown()
	wait.Wait()
}

// start prepares the queue; [Keeper.Handle] may be called from then on.
func (k *Keeper) start() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.queue != nil {
		return
	}
	k.queue = workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[item](firstRetry, lastRetry))
	k.rounds, k.changes, k.seen = map[item]found{}, map[string]map[int]forge.PullRequest{}, map[string][]string{}
	k.looks, k.applications = map[string]time.Duration{}, map[string][]string{}
	k.Metrics.observeQueue(k.queue.Len)
}

// poll puts every control plane into the queue, again and again.
func (k *Keeper) poll(ctx context.Context) {
	for {
		for _, url := range k.ControlPlanes {
			k.queue.Add(item{task: lookAround, controlPlane: url})
		}
		timer := time.NewTimer(jitter(cmp.Or(k.Poll, time.Minute)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// jitter returns a duration up to a fifth shorter or longer.
func jitter(d time.Duration) time.Duration {
	return d - d/5 + rand.N(2*d/5+1)
}

// next works on one item; false when the queue has ended.
func (k *Keeper) next(ctx context.Context) bool {
	i, ended := k.queue.Get()
	if ended {
		return false
	}
	defer k.queue.Done(i)
	if ctx.Err() != nil {
		return true
	}
	bounded, cancel := context.WithTimeout(ctx, cmp.Or(k.Timeout, 10*time.Minute))
	defer cancel()
	begun := time.Now()
	err := k.work(bounded, i)
	took := time.Since(begun)
	defer func() { k.Metrics.worked(i, took, err) }() // whoever sees it counted finds it in the log
	switch {
	case err == nil:
		k.queue.Forget(i)
	case ctx.Err() != nil:
		// The server stops; the next one starts from what Git says.
	default:
		k.retry(i, err)
	}
	return true
}

// retry puts an item back, after the pause that the forge asks for or a growing one.
func (k *Keeper) retry(i item, err error) {
	log := k.Log.With(i.attributes()...)
	var limited *forge.Error
	if errors.As(err, &limited) && limited.RetryAfter > 0 {
		log.Warn("waiting for the forge", "work", i.task, "for", limited.RetryAfter.String(), "error", err)
		k.queue.AddAfter(i, limited.RetryAfter)
		return
	}
	if errors.Is(err, pullrequest.ErrMoved) {
		log.Info("a branch moved meanwhile, looking again", "work", i.task)
	} else {
		log.Error("not done, trying again", "work", i.task, "failures", k.queue.NumRequeues(i)+1, "error", err)
	}
	k.queue.AddRateLimited(i)
}

func (k *Keeper) work(ctx context.Context, i item) error {
	if k.gone(i) {
		return nil
	}
	k.begin(i)
	defer k.end(i)
	switch i.task {
	case doRound:
		return k.round(ctx, i)
	case doPreview:
		return k.preview(ctx, i)
	case lookAtChanges:
		return k.lookAtChanges(ctx, i.controlPlane)
	case doRecord:
		return k.record(ctx, i)
	case doPromote:
		return k.promote(ctx, i)
	case lookAtApplications:
		return k.lookAtApplications(ctx, i.controlPlane)
	case doDeliver:
		return k.deliver(ctx, i)
	case doFollow:
		return k.follow(ctx, i)
	}
	if k.Deliveries != nil {
		k.queue.Add(item{task: lookAtApplications, controlPlane: i.controlPlane})
	}
	return errors.Join(k.lookAtEnvironments(ctx, i.controlPlane), k.lookAtChanges(ctx, i.controlPlane))
}

// lookAtEnvironments puts the environments of a control plane into the queue.
func (k *Keeper) lookAtEnvironments(ctx context.Context, controlPlane string) error {
	environments, err := k.Flows.Environments(ctx, controlPlane)
	if err != nil {
		return err
	}
	k.mu.Lock()
	k.seen[controlPlane] = environments
	k.mu.Unlock()
	for _, name := range environments {
		k.queue.Add(item{task: doRound, controlPlane: controlPlane, environment: name})
	}
	return nil
}

// gone reports whether an item is about an environment or application that its control plane does not have any more. What its
// last round read is forgotten then, so that events do not lead to it.
func (k *Keeper) gone(i item) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if i.application != "" {
		there := slices.Contains(k.applications[i.controlPlane], i.application)
		if !there {
			delete(k.rounds, i)
		}
		return !there
	}
	environments, known := k.seen[i.controlPlane]
	if i.environment == "" || !known || slices.Contains(environments, i.environment) {
		return false
	}
	delete(k.rounds, i)
	return true
}

// lookAtChanges puts the open changes of a control plane into the queue whose ends moved since they were looked at:
// a plan can only differ then.
func (k *Keeper) lookAtChanges(ctx context.Context, controlPlane string) error {
	changes, err := k.Flows.Changes(ctx, controlPlane)
	if err != nil {
		return err
	}
	open := map[int]forge.PullRequest{}
	for _, c := range changes {
		open[c.Number] = c
	}
	k.mu.Lock()
	was := k.changes[controlPlane]
	k.changes[controlPlane] = open
	k.mu.Unlock()
	for number, c := range open {
		if before, ok := was[number]; !ok || before.Head != c.Head || before.Base != c.Base {
			k.queue.Add(item{task: doPreview, controlPlane: controlPlane, change: number})
		}
	}
	return nil
}

func (k *Keeper) round(ctx context.Context, i item) error {
	outcome, err := k.Flows.Round(ctx, i.controlPlane, i.environment)
	first := k.isNew(i)
	if outcome != nil {
		k.Metrics.outcome(i.environment, outcome)
		k.tell(i, outcome, k.remember(i, outcome))
	}
	if err == nil && first {
		k.deliverAll(i.controlPlane) // what applications are checked by in this environment is known only now
	}
	if err == nil && k.Chains != nil {
		k.queue.Add(item{task: doRecord, controlPlane: i.controlPlane, environment: i.environment})
	}
	if err == nil && outcome != nil && outcome.PullRequest != nil && outcome.PullRequest.State == forge.Merged {
		k.queue.Add(i) // what it merged is published once the next round has seen it, whether the forge says something or not
	}
	return err
}

// isNew reports whether no round of an item has come to anything yet.
func (k *Keeper) isNew(i item) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	last, known := k.rounds[i]
	return !known || last.first
}

// tell logs each thing that a round did, and what it waits for when that is something new.
func (k *Keeper) tell(i item, o *schedule.Outcome, was found) {
	log := k.Log.With(i.attributes()...)
	if o.PullRequest != nil {
		log = log.With("change", o.PullRequest.Number, "url", o.PullRequest.URL)
	}
	for _, what := range o.Did {
		log.Info(what)
	}
	if o.Waits != "" && o.Waits != was.waits {
		log.Info("waiting", "for", o.Waits)
	}
}

func (k *Keeper) preview(ctx context.Context, i item) error {
	k.mu.Lock()
	change, ok := k.changes[i.controlPlane][i.change]
	k.mu.Unlock()
	if !ok {
		return nil // it was closed meanwhile
	}
	preview, err := k.Flows.Preview(ctx, i.controlPlane, change)
	log := k.Log.With(i.attributes()...)
	switch {
	case err != nil:
		return err
	case preview == nil:
		log.Info("did not plan a change from a fork", "url", change.URL, "fork", change.Head.Fork)
	default:
		log.Info("said what it would do", "url", change.URL, "result", preview.Summary())
	}
	return nil
}

// Ready reports whether every control plane was read since the start.
func (k *Keeper) Ready() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !slices.ContainsFunc(k.ControlPlanes, func(url string) bool { _, ok := k.seen[url]; return !ok })
}
