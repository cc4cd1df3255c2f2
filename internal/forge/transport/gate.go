package transport

import (
	"context"
	"sync"
	"time"
)

// gate delays requests to a forge.
type gate struct {
	clock   Clock
	maxWait time.Duration
	slots   chan struct{}

	mu     sync.Mutex
	closed time.Time // until then the forge wants no requests
	// all requests are spaced, and writes among them.
	all, writes pace
}

// pace spaces requests.
type pace struct {
	// interval is the time between two requests, burst the time that unused intervals can add up to.
	interval, burst time.Duration
	next            time.Time // when the next request is due
}

func newPace(rate float64, burst int) pace {
	if rate <= 0 {
		return pace{}
	}
	interval := time.Duration(float64(time.Second) / rate)
	return pace{interval: interval, burst: interval * time.Duration(burst-1)}
}

func newGate(c Config) *gate {
	return &gate{
		clock: c.Clock, maxWait: c.MaxWait, slots: make(chan struct{}, c.Concurrent),
		all: newPace(c.Rate, c.Burst), writes: newPace(c.Writes, c.WriteBurst),
	}
}

// enter waits until a request can start. If it would have to wait for too long, leave is nil and closed says how long.
// Writes wait for their turn without a slot, so that they do not hold up reads. Then it takes a slot, so that requests
// that wait for one notice when the gate closes.
func (g *gate) enter(ctx context.Context, writes bool) (leave func(), closed time.Duration, err error) {
	if writes {
		wait, tooLong := g.reserve(&g.writes, g.maxWait)
		if tooLong {
			return nil, wait, nil
		}
		if err := g.sleep(ctx, wait); err != nil {
			return nil, 0, err
		}
	}
	select {
	case g.slots <- struct{}{}:
		leave = func() { <-g.slots }
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	if closed, err = g.pause(ctx); err != nil || closed > 0 {
		leave()
		return nil, closed, err
	}
	return leave, 0, nil
}

// pause waits for the rate, and then until the gate opens.
func (g *gate) pause(ctx context.Context) (closed time.Duration, err error) {
	wait, _ := g.reserve(&g.all, 0)
	if err := g.sleep(ctx, wait); err != nil {
		return 0, err
	}
	for {
		wait, tooLong := g.wait()
		if tooLong {
			return wait, nil
		}
		if wait <= 0 {
			return 0, nil
		}
		if err := g.clock.Sleep(ctx, wait); err != nil {
			return 0, err
		}
	}
}

func (g *gate) sleep(ctx context.Context, wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	return g.clock.Sleep(ctx, wait)
}

// wait returns how long the gate stays closed.
func (g *gate) wait() (wait time.Duration, tooLong bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	wait = g.closed.Sub(g.clock.Now())
	return wait, wait > g.maxWait
}

// reserve takes the next start time at a pace, and returns how long to wait for it. It takes none that is more than most away;
// 0 means no limit.
func (g *gate) reserve(p *pace, most time.Duration) (wait time.Duration, tooLong bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.interval == 0 {
		return 0, false
	}
	now := g.clock.Now()
	if earliest := now.Add(-p.burst); p.next.Before(earliest) {
		p.next = earliest
	}
	wait = p.next.Sub(now)
	if most > 0 && wait > most {
		return wait, true
	}
	p.next = p.next.Add(p.interval)
	return wait, false
}

// close delays all requests for a duration, unless they are already delayed for longer.
func (g *gate) close(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if until := g.clock.Now().Add(d); until.After(g.closed) {
		g.closed = until
	}
}
