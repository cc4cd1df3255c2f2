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
	// interval is the time between two requests, burst the time that unused intervals can add up to.
	interval, burst time.Duration

	mu     sync.Mutex
	closed time.Time // until then the forge wants no requests
	next   time.Time // when the next request is due at the rate
}

func newGate(c Config) *gate {
	g := &gate{clock: c.Clock, maxWait: c.MaxWait, slots: make(chan struct{}, c.Concurrent)}
	if c.Rate > 0 {
		g.interval = time.Duration(float64(time.Second) / c.Rate)
		g.burst = g.interval * time.Duration(c.Burst-1)
	}
	return g
}

// enter waits until a request can start. If the gate is closed for too long, leave is nil and closed says how long.
// It takes a slot first, so that requests that wait for one notice when the gate closes.
func (g *gate) enter(ctx context.Context) (leave func(), closed time.Duration, err error) {
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
	if wait := g.reserve(); wait > 0 {
		if err := g.clock.Sleep(ctx, wait); err != nil {
			return 0, err
		}
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

// wait returns how long the gate stays closed.
func (g *gate) wait() (wait time.Duration, tooLong bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	wait = g.closed.Sub(g.clock.Now())
	return wait, wait > g.maxWait
}

// reserve takes the next start time at the rate, and returns how long to wait for it.
func (g *gate) reserve() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.interval == 0 {
		return 0
	}
	now := g.clock.Now()
	if earliest := now.Add(-g.burst); g.next.Before(earliest) {
		g.next = earliest
	}
	wait := g.next.Sub(now)
	g.next = g.next.Add(g.interval)
	return wait
}

// close delays all requests for a duration, unless they are already delayed for longer.
func (g *gate) close(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if until := g.clock.Now().Add(d); until.After(g.closed) {
		g.closed = until
	}
}
