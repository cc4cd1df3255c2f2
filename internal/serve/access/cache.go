package access

import (
	"sync"
	"time"
)

const (
	// Freshness is how long a token is believed without asking again; it bounds how long one lives on after it was
	// revoked on another server.
	Freshness = 5 * time.Second
	// maxKnown bounds how many tokens are remembered.
	maxKnown = 20_000
)

// cache remembers whose tokens were valid lately. The zero value is empty.
type cache struct {
	mu      sync.Mutex
	entries map[string]cached
	// cleared counts how often everything had to be asked again. What was asked before is not stored after.
	cleared int
}

type cached struct {
	who     Identity
	checked time.Time
}

// recency says what is remembered of a token.
type recency int

const (
	unheard recency = iota // nothing
	stale                  // it was valid when it was asked for last
	fresh                  // it is valid
)

func (c *cache) find(key string, now time.Time) (Identity, recency) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	switch {
	case !ok:
		return Identity{}, unheard
	case now.Sub(e.checked) >= Freshness, now.Before(e.checked), !e.who.Expires.IsZero() && !now.Before(e.who.Expires):
		return Identity{}, stale
	}
	return e.who, fresh
}

func (c *cache) generation() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cleared
}

// put remembers who it was, unless everything was to be asked again since it was asked.
func (c *cache) put(key string, who Identity, now time.Time, generation int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cleared != generation {
		return
	}
	if _, ok := c.entries[key]; !ok && len(c.entries) >= maxKnown || c.entries == nil {
		c.entries = map[string]cached{} // asking some of them again is cheap, and needs no order to be kept
	}
	c.entries[key] = cached{who, now}
}

func (c *cache) remove(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, key)
}

// forget makes every entry stale: it has to be asked for again.
func (c *cache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cleared++
	for key, e := range c.entries {
		e.checked = time.Time{}
		c.entries[key] = e
	}
}
