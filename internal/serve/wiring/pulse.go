package wiring

import (
	"context"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// pulse finds out whether the ledger's database answers. Requests for the state of the server ask it, so it asks the database at most once
// in each interval, and not for long.
type pulse struct {
	database ledger.Pinger // nil if the ledger cannot be away
	now      func() time.Time

	mu    sync.Mutex
	asked time.Time
	// since is when the database first did not answer; zero while it does.
	since time.Time
}

const (
	pulseInterval = time.Second
	pulseTimeout  = 500 * time.Millisecond
)

func newPulse(l ledger.Ledger) *pulse {
	database, _ := l.(ledger.Pinger)
	return &pulse{database: database, now: time.Now}
}

// away returns since when the database does not answer; zero if it does.
func (p *pulse) away() time.Time {
	if p == nil || p.database == nil {
		return time.Time{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.now(); p.asked.IsZero() || now.Sub(p.asked) >= pulseInterval {
		ctx, cancel := context.WithTimeout(context.Background(), pulseTimeout)
		defer cancel()
		err := p.database.Ping(ctx)
		p.asked = p.now()
		switch {
		case err == nil:
			p.since = time.Time{}
		case p.since.IsZero():
			p.since = now
		}
	}
	return p.since
}
