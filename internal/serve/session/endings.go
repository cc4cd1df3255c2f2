package session

import (
	"context"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// Ledger keeps which sessions were signed out, for all servers on it. Every [ledger.Ledger] is one.
type Ledger interface {
	EndSession(ctx context.Context, name string, until time.Time) error
	SessionEnded(ctx context.Context, name string) (bool, error)
}

// endings are the sessions that were signed out.
type endings struct {
	// ledger knows those of all servers; nil where there is only this one.
	ledger Ledger

	mu sync.Mutex
	// known is what is known of sessions, by name.
	known map[string]ending
}

// ending is whether a session was signed out.
type ending struct {
	over bool
	// asked is when the ledger knew nothing of that.
	asked time.Time
	// until is when the session ends by itself.
	until time.Time
}

// maxKnown bounds how many sessions something is known of.
const maxKnown = 20_000

// end ends a session: on this server at once, and on others as soon as they ask the ledger. The error is the ledger's.
func (e *endings) end(ctx context.Context, v *state, now time.Time) error {
	name := v.name()
	// Another copy of the cookie may be the more recent one.
	until := v.Begun.Add(Longest)
	e.remember(name, ending{over: true, until: until}, now)
	if e.ledger == nil {
		return nil
	}
	return e.ledger.EndSession(ctx, name, until)
}

// over reports whether a session was signed out. What the ledger said counts for [access.Freshness]. The error is the ledger's.
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

// remember notes what is known of a session. One that is over stays so, whatever the ledger said before it knew.
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
