package access

import (
	"sync"
	"time"
)

const (
	// Freshness is how long a token is cached, and so how long it stays valid after it was revoked on another server.
	Freshness = 5 * time.Second
	// maxKnown limits the cached tokens.
	maxKnown = 20_000
)

// cache has recently valid tokens. The zero value is empty.
type cache struct {
	mu      sync.Mutex
	entries map[string]cached
	// cleared counts calls of forget. Results of earlier checks are not stored.
	cleared int
}

type cached struct {
	who     Identity
	checked time.Time
}

// recency is the state of a token in the cache.
type recency int

const (
	unknown recency = iota // not cached
	stale                  // valid at the last check
	fresh                  // valid
)

func (c *cache) find(key string, now time.Time) (Identity, recency) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	switch {
	case !ok:
		return Identity{}, unknown
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

// put stores an identity, unless forget was called since the check.
func (c *cache) put(key string, who Identity, now time.Time, generation int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cleared != generation {
		return
	}
	if _, ok := c.entries[key]; !ok && len(c.entries) >= maxKnown || c.entries == nil {
		c.entries = map[string]cached{} // simple, and checking again is cheap
	}
	c.entries[key] = cached{who, now}
}

func (c *cache) remove(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, key)
}

// forget makes every entry stale.
func (c *cache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cleared++
	for key, e := range c.entries {
		e.checked = time.Time{}
		c.entries[key] = e
	}
}
