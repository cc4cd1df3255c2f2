package session

import (
	"context"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// Ledger stores ended sessions, for all servers that use it. [ledger.Ledger] implements it.
type Ledger interface {
	EndSession(ctx context.Context, name string, until time.Time) error
	SessionEnded(ctx context.Context, name string) (bool, error)
}

// endings are the ended sessions.
type endings struct {
	// ledger is optional: without it, only this server's are known.
	ledger Ledger

	mu sync.Mutex
	// known is the state of sessions, by name.
	known map[string]ending
}

// ending is the state of a session.
type ending struct {
	over bool
	// asked is when the ledger last had no entry.
	asked time.Time
	// until is when the session expires.
	until time.Time
}

// maxKnown limits the cached sessions.
const maxKnown = 20_000

// end ends a session: on this server immediately, on others when they next read the ledger. The error is the ledger's.
func (e *endings) end(ctx context.Context, v *state, now time.Time) error {
	name := v.name()
	// Another copy of the cookie may expire later.
	until := v.Begun.Add(Longest)
	e.remember(name, ending{over: true, until: until}, now)
	if e.ledger == nil {
		return nil
	}
	return e.ledger.EndSession(ctx, name, until)
}

// over reports whether a session was ended. Answers of the ledger are cached for [access.Freshness]. The error is the ledger's.
func (e *endings) over(ctx context.Context, v *state, now time.Time) (bool, error) {
	name := v.name()
	e.mu.Lock()
	known := e.known[name]
	e.mu.Unlock()
	age := now.Sub(known.asked)
	if known.over || e.ledger == nil || age >= 0 && age < access.Freshness {
		return known.over, nil
	}
	over, err := e.ledger.SessionEnded(ctx, name)
	if err == nil {
		e.remember(name, ending{over, now, v.Begun.Add(Longest)}, now)
	}
	return over, err
}

// remember caches the state of a session. An ended session stays ended.
func (e *endings) remember(name string, now ending, at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	was, ok := e.known[name]
	if !ok && len(e.known) >= maxKnown {
		for other, known := range e.known {
			if !at.Before(known.until) {
				delete(e.known, other)
			}
		}
		if len(e.known) >= maxKnown {
			clear(e.known)
		}
	}
	if e.known == nil {
		e.known = map[string]ending{}
	}
	if !was.over {
		e.known[name] = now
	}
}
