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
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/replica"
)

// Flows schedules environments and previews pull requests. Its methods can be called concurrently and repeatedly.
type Flows interface {
	// Environments returns the names of a control plane's environments.
	Environments(ctx context.Context, controlPlane string) ([]string, error)
	// Round brings the pull request of an environment up to date.
	Round(ctx context.Context, controlPlane, environment string) (*schedule.Outcome, error)
	// Changes returns the open pull requests of a control plane.
	Changes(ctx context.Context, controlPlane string) ([]forge.PullRequest, error)
	// Preview posts on a pull request of a control plane what it changes. It returns nil for one that is not planned.
	Preview(ctx context.Context, controlPlane string, change forge.PullRequest) (*schedule.Preview, error)
}

// ErrNotPushed means that a control plane on the embedded forge has no commit yet. The first push wakes the keeper.
var ErrNotPushed = errors.New("nothing was pushed to the control plane yet")

// task is a kind of work.
type task string

const (
	// doRefresh enqueues the environments, pull requests and applications of a control plane.
	doRefresh task = "control plane"
	// listChanges enqueues previews of the pull requests that changed.
	listChanges task = "changes"
	doRound     task = "environment"
	doPreview   task = "change"
	// doRecord records the GitOps branches of an environment.
	doRecord task = "branches"
	// doPromote runs a promotion round of a control plane.
	doPromote task = "chain"
	// listApplications enqueues the applications of a control plane.
	listApplications task = "applications"
	// doDeliver runs a round of an application.
	doDeliver task = "application"
	// doFollow runs a round of an application's chain only.
	doFollow task = "application chain"
)

// item is one piece of work. The queue contains equal items only once.
type item struct {
	task         task
	controlPlane string
	environment  string // for doRound and doRecord
	change       int    // for doPreview
	application  string // its subject
}

// attributes returns the log attributes of an item.
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
	// Flows schedules environments. // required
	Flows Flows
	// Chains records and promotes commits. Optional.
	Chains Chains
	// Deliveries delivers applications. Optional.
	Deliveries Deliveries
	// ControlPlanes are their URLs. // required
	ControlPlanes []string
	// Poll is the interval at which everything is read again; randomized by up to a fifth, so that servers do not poll at the same time.
	// Default: one minute.
	Poll time.Duration
	// Workers is the number of concurrent rounds of environments, and also that of applications and previews. Default: 4.
	Workers int
	// Timeout limits one round. Default: ten minutes.
	Timeout time.Duration
	// Log receives what was done, and errors. // required
	Log *slog.Logger
	// Metrics is optional.
	Metrics *Metrics
	// OnError is called with the error of each failed round. Optional.
	OnError func(error)
	// Wait waits until rounds may run, and returns false if the context ends before. Optional.
	Wait func(ctx context.Context) bool
	// Replicas divides the work with other servers. Optional.
	Replicas Replicas
	// Views shows what other replicas work on. Required with Replicas.
	Views Views

	queue *queue

	mu sync.Mutex
	// rounds are the results of the last rounds.
	rounds map[item]found
	// changes are the open pull requests of each control plane, by number.
	changes map[string]map[int]forge.PullRequest
	// durations are the durations of the last rounds of chains, by control plane or application.
	durations map[string]time.Duration
	// seen are the environments of each control plane that was read. The server is ready when all were read.
	seen map[string][]string
	// applications are the registered applications of each control plane.
	applications map[string][]string
	// looked are the environments that were worked on or viewed since the start, with or without success.
	looked map[item]bool
	// finished is when the last round of each environment succeeded or, before the first one, when the environment was first read.
	finished map[item]time.Time
}

// Pauses before a failed item is retried.
const (
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
)

// Run works until the context ends, and returns when the running rounds have ended.
func (k *Keeper) Run(ctx context.Context) {
	k.start()
	if k.Wait != nil && !k.Wait(ctx) {
		return
	}
	var wait sync.WaitGroup
	for range cmp.Or(k.Workers, 4) {
		for _, lane := range []workqueue.TypedRateLimitingInterface[item]{k.queue.environments, k.queue.others} {
			wait.Go(func() {
				for k.next(ctx, lane) {
				}
			})
		}
	}
	wait.Go(func() { k.poll(ctx) })
	<-ctx.Done()
	k.queue.ShutDown()
	wait.Wait()
}

// start creates the queue. [Keeper.HandleEvent] can be called before Run.
func (k *Keeper) start() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.queue != nil {
		return
	}
	k.queue = newQueue()
	k.rounds, k.changes, k.seen = map[item]found{}, map[string]map[int]forge.PullRequest{}, map[string][]string{}
	k.durations, k.applications = map[string]time.Duration{}, map[string][]string{}
	k.finished, k.looked = map[item]time.Time{}, map[item]bool{}
	k.Metrics.observeQueue(k.queue.Len)
}

// poll enqueues every control plane at each interval.
func (k *Keeper) poll(ctx context.Context) {
	for {
		for _, url := range k.ControlPlanes {
			k.queue.Add(item{task: doRefresh, controlPlane: url})
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

// jitter returns a duration that is randomly up to a fifth shorter or longer.
func jitter(d time.Duration) time.Duration {
	return d - d/5 + rand.N(2*d/5+1)
}

// next works on one item of a lane; false when it is shut down.
func (k *Keeper) next(ctx context.Context, lane workqueue.TypedRateLimitingInterface[item]) bool {
	i, ended := lane.Get()
	if ended {
		return false
	}
	defer lane.Done(i)
	if ctx.Err() != nil {
		return true
	}
	bounded, cancel := context.WithTimeout(ctx, cmp.Or(k.Timeout, 10*time.Minute))
	defer cancel()
	begun := time.Now()
	err := k.work(bounded, i)
	took := time.Since(begun)
	defer func() { k.Metrics.worked(i, took, err) }() // after it is logged
	switch {
	case err == nil:
		lane.Forget(i)
	case ctx.Err() != nil:
		// The server stops. The next start reads everything again.
	default:
		k.retry(i, err)
	}
	return true
}

// manyMoves is after how many rounds in a row a branch that moved is a failure: something else keeps the round from its end.
const manyMoves = 10

// retry enqueues a failed item again, after the pause that the forge requests or a growing one.
func (k *Keeper) retry(i item, err error) {
	log := k.Log.With(i.attributes()...)
	if k.OnError != nil {
		k.OnError(err)
	}
	var limited *forge.Error
	if errors.As(err, &limited) && limited.RetryAfter > 0 {
		log.Warn("waiting for the forge", "work", i.task, "for", limited.RetryAfter.String(), "error", err)
		k.queue.AddAfter(i, limited.RetryAfter)
		return
	}
	switch {
	case errors.Is(err, pullrequest.ErrMoved) && k.queue.of(i).NumRequeues(i) < manyMoves:
		log.Info("a branch moved during the round, trying again", "work", i.task)
	case errors.Is(err, replica.ErrBusy), errors.Is(err, replica.ErrLost), errors.Is(err, ledger.ErrFenced):
		log.Info("the work moved to another replica, or from it", "work", i.task, "error", err)
		k.queue.of(i).Forget(i)
		k.queue.AddAfter(i, firstRetry)
		return
	case errors.Is(err, query.ErrNotRead):
		log.Info("waiting", "for", "the first round of an environment")
	case errors.Is(err, ErrNotPushed):
		if k.queue.of(i).NumRequeues(i) == 0 {
			log.Info("waiting for the first push to the control plane", "error", err)
		}
	default:
		log.Error("round failed, trying again", "work", i.task, "failures", k.queue.of(i).NumRequeues(i)+1, "error", err)
	}
	k.queue.of(i).AddRateLimited(i)
}

func (k *Keeper) work(ctx context.Context, i item) error {
	if k.gone(i) {
		return nil
	}
	k.startRound(i)
	defer k.endRound(i)
	if k.Replicas != nil {
		return k.workOrView(ctx, i)
	}
	return k.do(ctx, i)
}

// do works on an item.
func (k *Keeper) do(ctx context.Context, i item) error {
	switch i.task {
	case doRound:
		return k.round(ctx, i)
	case doPreview:
		return k.preview(ctx, i)
	case listChanges:
		return k.listChanges(ctx, i.controlPlane)
	case doRecord:
		return k.record(ctx, i)
	case doPromote:
		return k.promote(ctx, i)
	case listApplications:
		return k.listApplications(ctx, i.controlPlane)
	case doDeliver:
		return k.deliver(ctx, i)
	case doFollow:
		return k.follow(ctx, i)
	}
	return k.refresh(ctx, i.controlPlane)
}

// refresh lists what a control plane has, and enqueues it.
func (k *Keeper) refresh(ctx context.Context, controlPlane string) error {
	err := k.listEnvironments(ctx, controlPlane)
	if errors.Is(err, ErrNotPushed) {
		return err
	}
	if k.Deliveries != nil {
		k.queue.Add(item{task: listApplications, controlPlane: controlPlane})
	}
	if k.Replicas != nil {
		k.queue.Add(item{task: listChanges, controlPlane: controlPlane}) // one replica lists them
		return err
	}
	return errors.Join(err, k.listChanges(ctx, controlPlane))
}

// listEnvironments enqueues the environments of a control plane.
func (k *Keeper) listEnvironments(ctx context.Context, controlPlane string) error {
	environments, err := k.Flows.Environments(ctx, controlPlane)
	if err != nil {
		return err
	}
	k.mu.Lock()
	for _, name := range k.seen[controlPlane] {
		if !slices.Contains(environments, name) {
			k.Metrics.removed(controlPlane, name)
			delete(k.finished, roundOf(controlPlane, name))
			delete(k.looked, roundOf(controlPlane, name))
		}
	}
	k.seen[controlPlane] = environments
	for _, name := range environments {
		if _, known := k.finished[roundOf(controlPlane, name)]; !known {
			k.setFinished(roundOf(controlPlane, name))
		}
	}
	k.mu.Unlock()
	for _, name := range environments {
		k.queue.Add(roundOf(controlPlane, name))
	}
	return nil
}

// roundOf returns the item of an environment's rounds.
func roundOf(controlPlane, environment string) item {
	return item{task: doRound, controlPlane: controlPlane, environment: environment}
}

// setFinished notes that a round succeeded now. The caller holds the lock.
func (k *Keeper) setFinished(i item) {
	now := time.Now()
	k.finished[i] = now
	k.Metrics.finished(i.controlPlane, i.environment, now)
}

// Overdue is an environment without a successful round for a while.
type Overdue struct {
	ControlPlane, Environment string
	// Since is when the last round succeeded or, before the first one, when the environment was first read.
	Since time.Time
}

// Overdue returns the environments of which no round has succeeded for a time, sorted.
func (k *Keeper) Overdue(after time.Duration) []Overdue {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []Overdue
	for i, at := range k.finished {
		if time.Since(at) > after {
			all = append(all, Overdue{i.controlPlane, i.environment, at})
		}
	}
	slices.SortFunc(all, func(a, b Overdue) int {
		return cmp.Or(cmp.Compare(a.ControlPlane, b.ControlPlane), cmp.Compare(a.Environment, b.Environment))
	})
	return all
}

// gone reports whether the environment or application of an item was removed, and forgets its last round.
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

// known returns the states of the environments that were not removed during the round.
func (k *Keeper) known(controlPlane string, environments []promote.Standing) []promote.Standing {
	k.mu.Lock()
	defer k.mu.Unlock()
	names, ok := k.seen[controlPlane]
	if !ok {
		return environments
	}
	return slices.DeleteFunc(slices.Clone(environments), func(e promote.Standing) bool { return !slices.Contains(names, e.Environment) })
}

// listChanges enqueues previews of the open pull requests whose head or base changed: only then can their plan change.
func (k *Keeper) listChanges(ctx context.Context, controlPlane string) error {
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
	if k.ended(i, err) {
		return err
	}
	if outcome != nil {
		k.Metrics.outcome(i.controlPlane, i.environment, outcome)
		k.logOutcome(i, outcome, k.remember(i, outcome))
	}
	if err == nil && first {
		k.deliverAll(i.controlPlane) // the check policies of this environment are known now
	}
	if err == nil && k.Chains != nil {
		k.queue.Add(item{task: doRecord, controlPlane: i.controlPlane, environment: i.environment})
	}
	if err == nil && outcome != nil && outcome.PullRequest != nil && outcome.PullRequest.State == forge.Merged {
		k.queue.Add(i) // the next round reads what was merged, even without an event of the forge
	}
	if err == nil && outcome != nil && !outcome.Next.IsZero() {
		k.queue.AddAfter(i, time.Until(outcome.Next))
	}
	return err
}

// ended notes when a round of an environment succeeded, and reports whether the environment was removed during the round.
func (k *Keeper) ended(i item, err error) (removed bool) {
	if k.gone(i) {
		return true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, known := k.finished[i]; known && err == nil { // it was not removed meanwhile
		k.setFinished(i)
	}
	return false
}

// isNew reports whether no round of an item has had a result.
func (k *Keeper) isNew(i item) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	last, known := k.rounds[i]
	return !known || last.first
}

// logOutcome logs what a round did, and what it waits for if that is new.
func (k *Keeper) logOutcome(i item, o *schedule.Outcome, was found) {
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
		return nil // it was closed
	}
	preview, err := k.Flows.Preview(ctx, i.controlPlane, change)
	log := k.Log.With(i.attributes()...)
	switch {
	case err != nil:
		return err
	case preview == nil:
		log.Info("pull request from a fork was not planned", "url", change.URL, "fork", change.Head.Fork)
	default:
		log.Info("posted the preview of a pull request", "url", change.URL, "result", preview.Summary())
	}
	return nil
}

// Ready reports whether all control planes were read since the start, and by a replica also all environments: another one, that
// has read them, can answer meanwhile.
func (k *Keeper) Ready() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !slices.ContainsFunc(k.ControlPlanes, func(url string) bool {
		environments, ok := k.seen[url]
		return !ok || k.Replicas != nil && slices.ContainsFunc(environments, func(name string) bool { return !k.looked[roundOf(url, name)] })
	})
}
