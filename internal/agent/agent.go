package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// Cluster is the cluster that the agent watches.
type Cluster interface {
	// Run watches until the context ends.
	Run(ctx context.Context)
	// Changed receives a value when the snapshot may have changed since the last value.
	Changed() <-chan struct{}
	Snapshot() Snapshot
}

// Server receives the reports. Send makes one attempt; its error may be a [Rejection].
type Server interface {
	Send(ctx context.Context, batch hub.ReportBatch) (hub.ReportReceipt, error)
}

// Rejection is an error of a [Server] that answered. After any other error the batch may or may not have arrived.
type Rejection interface {
	error
	// RejectsContent reports whether the batch's content is the reason: a smaller or different batch may be accepted.
	RejectsContent() bool
	// RetryAfter returns how long the server wants to wait; 0 if it does not say.
	RetryAfter() time.Duration
}

// Jobs runs templates of the cluster as Jobs.
type Jobs interface {
	// Run starts what is requested, unless it runs or has ended, and returns how far it is.
	Run(ctx context.Context, request hub.JobRequest) hub.JobResult
}

// Agent reports one cluster to a server, and those that its reconcilers serve. Each cluster has its own queue: one that the server
// does not accept does not hold up the others.
type Agent struct {
	Cluster Cluster      // required
	Server  Server       // required, except for exports
	Log     *slog.Logger // required
	// Name is the cluster's name. It is optional for Run: the server knows the cluster by its credential.
	Name string
	// Others are further clusters that Run reports for, with the same credential: those to which reconcilers of this cluster apply
	// their objects.
	Others []string
	// Version is the agent's version.
	Version string
	Store   Store
	// Jobs runs the Jobs that the server requests for Name, but not those for Others. Optional: without it, the agent runs none.
	Jobs Jobs
	// Interval is the time between heartbeats while nothing changes. Default: one minute.
	Interval time.Duration
}

const (
	// gatherTime is how long changes are collected before the next snapshot.
	gatherTime = time.Second
	// minPause and maxPause bound the pause after a failed attempt.
	minPause, maxPause = time.Second, 5 * time.Minute
)

// Run reports until the context ends. What is not sent by then stays in the store.
func (a *Agent) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	running.Go(func() { a.Cluster.Run(ctx) })
	if len(a.Others) == 0 {
		a.report(ctx)
		return
	}
	shared := newShared(a.Cluster, a.Others)
	running.Go(func() { shared.run(ctx) })
	for _, v := range shared.views {
		running.Go(func() { a.of(v).report(ctx) })
	}
	<-ctx.Done()
}

// of returns the agent of a cluster that shares the watcher.
func (a *Agent) of(v *view) *Agent {
	one := *a
	one.Cluster, one.Others = v, nil
	if v.name != "" {
		one.Jobs = nil
		one.Name, one.Log, one.Store = v.name, a.Log.With("cluster", v.name), a.Store.of(v.name)
		if err := os.MkdirAll(one.Store.Dir, 0o700); err != nil && one.Store.Dir != "" {
			one.Log.Error("cannot create the folder of the queue", "error", err)
		}
	}
	return &one
}

// report reports a cluster that is watched, until the context ends.
func (a *Agent) report(ctx context.Context) {
	queue, err := a.Store.load(a.Name)
	if err != nil {
		a.Log.Error("cannot use the stored queue", "error", err)
	}
	r := &run{
		Agent: a, queue: queue, limit: hub.MaxReports, pause: minPause, interval: a.Interval,
		// Buffered: the answer to the last batch may arrive after the loop has ended.
		results: make(chan result, 1), gather: time.NewTimer(gatherTime), next: time.NewTimer(0), jobs: newJobs(a.Jobs),
	}
	if r.interval <= 0 {
		r.interval = time.Minute
	}
	r.gather.Stop()
	r.loop(ctx)
	r.save()
}

// run is the state of a running agent. Only one goroutine uses it.
type run struct {
	*Agent
	queue    *Queue
	interval time.Duration

	gather    *time.Timer // fires when changes have been collected
	gathering bool
	next      *time.Timer // fires when the next batch or heartbeat is due
	results   chan result
	sending   bool
	// pause follows the next failure; failing is set while the last attempt failed.
	pause   time.Duration
	failing bool
	// limit is how many reports the server seems to accept at once.
	limit int
	// retry is a failed batch, to be sent again unchanged.
	retry *hub.ReportBatch
	// logged is the last failure that was logged, unassigned what was logged about destinations.
	logged, unassigned string

	snapshot Snapshot
	lastSent time.Time
	jobs     *jobs
}

// result is the outcome of sending a batch.
type result struct {
	batch   hub.ReportBatch
	receipt hub.ReportReceipt
	err     error
}

func (r *run) loop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.Cluster.Changed():
			if !r.gathering {
				r.gathering = true
				r.gather.Reset(gatherTime)
			}
			continue
		case <-r.gather.C:
			r.gathering = false
			r.observe()
			// While the server is failing, the pause decides when to try again.
			if r.queue.Waiting() > 0 && !r.failing {
				r.send(ctx)
			}
		case <-r.next.C:
			r.observe()
			r.send(ctx)
		case result := <-r.results:
			r.sending = false
			if ctx.Err() == nil {
				r.handle(ctx, result)
			}
		case <-r.jobs.due.C:
			r.jobs.advance(ctx)
		case results := <-r.jobs.results:
			r.jobs.keep(results)
			if r.jobs.unsent && !r.failing {
				r.send(ctx)
			}
		}
		r.writeHealth()
	}
}

// observe adds the cluster's current state to the queue.
func (r *run) observe() {
	r.snapshot = r.Cluster.Snapshot()
	r.logUnassigned()
	if r.queue.Observe(r.snapshot, time.Now()) {
		r.save()
	}
}

func (r *run) save() {
	if err := r.Store.save(r.queue, r.Name); err != nil {
		r.logError("cannot save the queue, it is only in memory: check the folder of --state-dir", err)
	}
}

// send sends waiting reports, or a heartbeat, unless a batch is being sent already.
func (r *run) send(ctx context.Context) {
	if r.sending {
		return
	}
	batch := r.retry
	if batch == nil {
		batch = r.batch()
	}
	if batch == nil {
		r.next.Reset(r.interval)
		return
	}
	r.sending = true
	go func() {
		receipt, err := r.Server.Send(ctx, *batch)
		r.results <- result{*batch, receipt, err}
	}()
}

// batch returns the next batch; nil if there is nothing to send.
func (r *run) batch() *hub.ReportBatch {
	reports := r.queue.Next(r.limit)
	if len(reports) == 0 && (!r.snapshot.Complete || !r.snapshot.Alive) {
		return nil
	}
	batch := hub.NewReportBatch(r.Name, instant(time.Now()), reports)
	batch.Agent, batch.Dropped, batch.Present = r.Version, r.queue.dropped, r.queue.Present(r.snapshot)
	batch.RunsJobs, batch.Jobs = r.jobs.report()
	return &batch
}

// handle processes the server's answer and schedules the next batch.
func (r *run) handle(ctx context.Context, res result) {
	r.retry = nil
	var rejection Rejection
	switch {
	case res.err == nil:
		r.accepted(res)
	case errors.As(res.err, &rejection) && rejection.RejectsContent() && len(res.batch.Reports) > 0:
		r.split(res)
	default:
		r.failed(res)
		return
	}
	if r.queue.Waiting() > 0 || r.jobs.unsent {
		r.send(ctx)
		return
	}
	r.next.Reset(r.interval)
}

func (r *run) accepted(res result) {
	if r.failing {
		r.Log.Info("the server accepts reports again")
	}
	r.failing, r.pause, r.logged, r.lastSent = false, minPause, "", time.Now()
	r.limit = min(r.limit*2, hub.MaxReports) // the rejected report may be gone by now
	r.queue.Accepted(&res.batch, res.receipt)
	r.jobs.request(res.receipt.Jobs)
	r.save()
}

// split tries smaller batches until the report that the server rejects is found, and drops that one.
func (r *run) split(res result) {
	if n := len(res.batch.Reports); n > 1 {
		r.limit = n / 2
		return
	}
	rejected := res.batch.Reports[0]
	r.Log.Error("the server rejected a report: leaving it out", "kind", rejected.Kind, "namespace", rejected.Namespace, "name", rejected.Name, "error", res.err)
	r.queue.drop(rejected)
	r.save()
}

// failed schedules another attempt. Each pause is twice as long as the one before, half of it random.
func (r *run) failed(res result) {
	r.failing = true
	// The repeated batch keeps its ID: the server recognizes it if only its answer was lost.
	// A heartbeat is not repeated, because an old one says nothing.
	if len(res.batch.Reports) > 0 {
		r.retry = &res.batch
	}
	pause := r.pause/2 + rand.N(r.pause/2)
	var rejection Rejection
	if errors.As(res.err, &rejection) {
		pause = max(pause, min(rejection.RetryAfter(), maxPause))
	}
	r.pause = min(r.pause*2, maxPause)
	r.next.Reset(pause)
	r.logError("cannot send reports, they are kept in the queue", res.err)
}

// logUnassigned logs which destinations belong to no cluster, when they change.
func (r *run) logUnassigned() {
	text := countsOf(r.snapshot.Unassigned)
	if text == r.unassigned {
		return
	}
	if r.unassigned = text; text != "" {
		r.Log.Warn("applications for other clusters are not reported: map their destinations to registered clusters with --destination", "destinations", text)
	}
}

// countsOf returns, for example, "store (2), https://10.1.2.3 (1)": at most ten destinations, sorted.
func countsOf(destinations map[string]int) string {
	const most = 10
	var all []string
	for i, name := range slices.Sorted(maps.Keys(destinations)) {
		if i == most {
			all = append(all, fmt.Sprintf("and %d more", len(destinations)-most))
			break
		}
		all = append(all, fmt.Sprintf("%s (%d)", name, destinations[name]))
	}
	return strings.Join(all, ", ")
}

// logError logs a repeated error only once, until it changes or the server accepts a batch.
func (r *run) logError(what string, err error) {
	level := slog.LevelDebug
	if text := err.Error(); text != r.logged {
		r.logged, level = text, slog.LevelError
	}
	r.Log.Log(context.Background(), level, what, "error", err, "waiting", r.queue.Waiting())
}
