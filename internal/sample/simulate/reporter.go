package simulate

import (
	"context"
	"math/rand/v2"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/agent"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// reporter tells a server about a cluster, with the queue of the agent. It does in steps what the agent does by the clock.
type reporter struct {
	server agent.Server // nil: nobody wants to know
	queue  agent.Queue
	// retry is a batch that was not taken, to be sent again as it was.
	retry *hub.ReportBatch
	pause time.Duration // after the next attempt that is not taken
	next  time.Time     // when something is sent again, be it a heartbeat
	sent  time.Time     // when the server took the last batch
	// problem is why it does not take the next one.
	problem string
}

const (
	shortestPause, longestPause = time.Second, time.Minute
	// maxBatches bounds what is sent in a step, whatever the server asks for.
	maxBatches = 20
	// oneBatch is how long a server may take for one. Meanwhile the other clusters wait for the next step.
	oneBatch = 15 * time.Second
	// agentVersion is what takes the place of the agent's.
	agentVersion = "simulated"
)

// report sends what a cluster has to say, or at times that it is alive.
func (m *machine) report(ctx context.Context, now time.Time) {
	r := &m.reporter
	news := m.observe(now)
	if r.server == nil {
		r.next = now.Add(m.config.Heartbeat)
		return
	}
	// While the server takes nothing, the pause decides when it is tried again.
	if due := !now.Before(r.next); !due && (!news || r.problem != "") {
		return
	}
	for range maxBatches {
		if taken, more := m.send(ctx, now); !taken {
			return
		} else if !more {
			break
		}
	}
	r.next = now.Add(m.config.Heartbeat)
}

// observe takes what has changed into the queue, and says whether that is news.
func (m *machine) observe(now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	changed := m.changed
	m.changed = false
	return changed && m.queue.Observe(m.snapshot(), now)
}

// snapshot is what all reconcilers of a cluster say now.
func (m *machine) snapshot() agent.Snapshot {
	return agent.Snapshot{Complete: true, Alive: true, Reports: m.reportsNow()}
}

// batch is what is sent next.
func (m *machine) batch(now time.Time) hub.ReportBatch {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.retry != nil {
		return *m.retry
	}
	b := hub.NewReportBatch(m.Name, now.UTC().Truncate(time.Microsecond), m.queue.Next(hub.MaxReports))
	b.Agent, b.Present = agentVersion, m.queue.Present(m.snapshot())
	return b
}

// send sends a batch, and says whether it was taken, and whether there is more.
func (m *machine) send(ctx context.Context, now time.Time) (taken, more bool) {
	batch := m.batch(now)
	limited, done := context.WithTimeout(ctx, oneBatch)
	defer done()
	receipt, err := m.server.Send(limited, batch)
	m.mu.Lock()
	defer m.mu.Unlock()
	r := &m.reporter
	if err != nil {
		r.failed(batch, err, now, m.random)
		m.log.Debug("a simulated cluster could not report", "error", err)
		return false, true
	}
	r.retry, r.pause, r.problem, r.sent = nil, shortestPause, "", now
	r.queue.Accepted(&batch, receipt)
	return true, r.queue.Waiting() > 0
}

// failed waits, each time twice as long, half of it by chance.
func (r *reporter) failed(batch hub.ReportBatch, err error, now time.Time, random *rand.Rand) {
	// The same batch again has the same id. A heartbeat of a while ago is of no use.
	if r.retry = nil; len(batch.Reports) > 0 {
		r.retry = &batch
	}
	r.problem = secret.Line(secret.Redact(err.Error()))
	r.pause = min(max(r.pause, shortestPause), longestPause)
	r.next = now.Add(r.pause/2 + time.Duration(random.Int64N(int64(r.pause/2))))
	r.pause *= 2
}
