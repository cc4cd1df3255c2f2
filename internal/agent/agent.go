package agent

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// Cluster is what is reported about.
type Cluster interface {
	// Run watches until the context ends.
	Run(ctx context.Context)
	// Changed receives when the snapshot may have changed since it received last.
	Changed() <-chan struct{}
	Snapshot() Snapshot
}

// Server is who wants to know.
type Server interface {
	Send(ctx context.Context, batch hub.ReportBatch) (hub.ReportReceipt, error)
}

// Agent reports about a cluster.
type Agent struct {
	Cluster Cluster      // required
	Server  Server       // required, except for exports
	Log     *slog.Logger // required
	// Name is that of the cluster; may be empty when the server knows it by the credential.
	Name string
	// Version is that of the agent.
	Version string
	Store   Store
	// Interval is how long nothing is sent when nothing changes. Default: one minute.
	Interval time.Duration
}

const (
	// gathering is how long changes are gathered before they are looked at together.
	gathering = time.Second
	// shortest and longest are the bounds of the pause after an attempt that failed.
	shortest, longest = time.Second, 5 * time.Minute
)

// Run reports until the context ends. What could not be sent by then is in the store.
func (a *Agent) Run(ctx context.Context) {
	queue, err := a.Store.Load(a.Name)
	if err != nil {
		a.Log.Error("the queue cannot be used", "error", err)
	}
	r := &run{
		Agent: a, queue: queue, limit: hub.MaxReports, pause: shortest, interval: a.Interval,
		// There is room for the answer to the only batch on its way, which may come when nobody listens any more.
		results: make(chan result, 1), gather: time.NewTimer(gathering), next: time.NewTimer(0),
	}
	if r.interval <= 0 {
		r.interval = time.Minute
	}
	r.gather.Stop()
	var running sync.WaitGroup
	defer running.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	running.Go(func() { a.Cluster.Run(ctx) })
	r.loop(ctx)
	r.save()
}

// run is the state of a running agent. Only one goroutine uses it; a batch on its way is another one's, until it answers.
type run struct {
	*Agent
	queue    *Queue
	interval time.Duration

	gather    *time.Timer // ends when changes have been gathered
	gathering bool
	next      *time.Timer // ends when something is to be sent, be it only a heartbeat
	results   chan result
	onTheWay  bool
	// pause is how long to wait after the next failure; failing says that the last attempt was one.
	pause   time.Duration
	failing bool
	// limit is how many reports the server seems to take at once.
	limit int
	// retry is the batch that failed, to be sent again as it was.
	retry *hub.ReportBatch
	// said is the last failure that was logged.
	said string

	snapshot Snapshot
	lastSent time.Time
}

// result is what came of a batch.
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
				r.gather.Reset(gathering)
			}
			continue
		case <-r.gather.C:
			r.gathering = false
			r.look()
			// While the server is failing, the pause decides when it is tried again.
			if r.queue.Waiting() > 0 && !r.failing {
				r.send(ctx)
			}
		case <-r.next.C:
			r.look()
			r.send(ctx)
		case result := <-r.results:
			r.onTheWay = false
			if ctx.Err() == nil {
				r.answered(ctx, result)
			}
		}
		r.writeHealth()
	}
}

// look takes over what the cluster says now.
func (r *run) look() {
	r.snapshot = r.Cluster.Snapshot()
	if r.queue.Observe(r.snapshot, time.Now()) {
		r.save()
	}
}

func (r *run) save() {
	if err := r.Store.Save(r.queue, r.Name); err != nil {
		r.complain("the queue is only in memory: check the folder of --state-dir", err)
	}
}

// send sends what waits, or a heartbeat, unless something is on its way already.
func (r *run) send(ctx context.Context) {
	if r.onTheWay {
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
	r.onTheWay = true
	go func() {
		receipt, err := r.Server.Send(ctx, *batch)
		r.results <- result{*batch, receipt, err}
	}()
}

// batch makes the next batch; nil when there is nothing to say.
func (r *run) batch() *hub.ReportBatch {
	reports := r.queue.Next(r.limit)
	if len(reports) == 0 && (!r.snapshot.Complete || !r.snapshot.Alive) {
		return nil
	}
	batch := hub.NewReportBatch(r.Name, instant(time.Now()), reports)
	batch.Agent, batch.Dropped, batch.Present = r.Version, r.queue.dropped, r.queue.Present(r.snapshot)
	return &batch
}

// answered takes the server's answer, and decides when to send again.
func (r *run) answered(ctx context.Context, res result) {
	r.retry = nil
	var refused *Refusal
	switch {
	case res.err == nil:
		r.taken(res)
	case errors.As(res.err, &refused) && refused.aboutContent() && len(res.batch.Reports) > 0:
		r.tooMuch(res)
	default:
		r.failed(res)
		return
	}
	if r.queue.Waiting() > 0 {
		r.send(ctx)
		return
	}
	r.next.Reset(r.interval)
}

func (r *run) taken(res result) {
	if r.failing {
		r.Log.Info("the server takes reports again")
	}
	r.failing, r.pause, r.said, r.lastSent = false, shortest, "", time.Now()
	r.limit = min(r.limit*2, hub.MaxReports) // what was refused may have been left out by now
	r.queue.Sent(res.batch.Reports)
	if res.batch.Present != nil {
		r.queue.Introduced()
	}
	if res.receipt.Resend {
		r.queue.Resend()
	}
	r.save()
}

// tooMuch tries smaller batches, until it is found which report is not taken.
func (r *run) tooMuch(res result) {
	if n := len(res.batch.Reports); n > 1 {
		r.limit = n / 2
		return
	}
	refused := res.batch.Reports[0]
	r.Log.Error("the server does not take a report: it is left out", "kind", refused.Kind, "namespace", refused.Namespace, "name", refused.Name, "error", res.err)
	r.queue.Drop(refused)
	r.save()
}

// failed waits, each time twice as long, half of it by chance.
func (r *run) failed(res result) {
	r.failing = true
	// The same batch again has the same id, by which the server knows whether it was only the answer that got lost.
	// A heartbeat is made anew: that the cluster was alive a while ago is of no use.
	if len(res.batch.Reports) > 0 {
		r.retry = &res.batch
	}
	pause := r.pause/2 + rand.N(r.pause/2)
	var refused *Refusal
	if errors.As(res.err, &refused) {
		pause = max(pause, refused.After)
	}
	r.pause = min(r.pause*2, longest)
	r.next.Reset(pause)
	r.complain("reports wait: the server did not take them", res.err)
}

// complain logs an error once, until it is another one or it is over.
func (r *run) complain(what string, err error) {
	level := slog.LevelDebug
	if text := err.Error(); text != r.said {
		r.said, level = text, slog.LevelError
	}
	r.Log.Log(context.Background(), level, what, "error", err, "waiting", r.queue.Waiting())
}
