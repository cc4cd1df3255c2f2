package simulate

import (
	"context"
	"math/rand/v2"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/agent"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// reporter reports a cluster to a server through the agent's queue. It does in steps what the agent does by the clock.
type reporter struct {
	server agent.Server // nil without one
	queue  agent.Queue
	// retry is a batch that was not accepted, to be sent again unchanged.
	retry *hub.ReportBatch
	pause time.Duration // after the next attempt that is not taken
	next  time.Time     // when the next batch or heartbeat is sent
	sent  time.Time     // when the server accepted the last batch
	// problem is why the server refuses the next batch.
	problem string
}

const (
	shortestPause, longestPause = time.Second, time.Minute
	// maxBatches is the maximum number of batches in a step.
	maxBatches = 20
	// oneBatch is the timeout of one batch. Meanwhile the other clusters wait for the next step.
	oneBatch = 15 * time.Second
	// agentVersion is reported as the version of the agent.
	agentVersion = "simulated"
)

// report sends new reports, or now and then a heartbeat.
func (m *machine) report(ctx context.Context, now time.Time) {
	r := &m.reporter
	news := m.observe(now)
	if r.server == nil {
		r.next = now.Add(m.config.Heartbeat)
		return
	}
	// While the server refuses batches, the pause decides when to retry.
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

// observe queues what has changed, and reports whether anything has.
func (m *machine) observe(now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	changed := m.changed
	m.changed = false
	return changed && m.queue.Observe(m.snapshot(), now)
}

// snapshot returns the reports of all reconcilers of a cluster.
func (m *machine) snapshot() agent.Snapshot {
	return agent.Snapshot{Complete: true, Alive: true, Reports: m.reportsNow()}
}

// batch returns the batch to send next.
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

// send sends a batch, and reports whether it was accepted and whether there are more.
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

// failed sets the next pause: twice the last one, half of it random.
func (r *reporter) failed(batch hub.ReportBatch, err error, now time.Time, random *rand.Rand) {
	// A retried batch keeps its id. An old heartbeat is useless.
	if r.retry = nil; len(batch.Reports) > 0 {
		r.retry = &batch
	}
	r.problem = secret.Line(secret.Redact(err.Error()))
	r.pause = min(max(r.pause, shortestPause), longestPause)
	r.next = now.Add(r.pause/2 + time.Duration(random.Int64N(int64(r.pause/2))))
	r.pause *= 2
}
