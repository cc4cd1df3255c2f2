package web

import (
	"context"
	"runtime/debug"
	"sync"
	"time"
)

// Limits of the cache.
const (
	// maxAge is how long a page is reused.
	maxAge = time.Second
	// maxEntries limits the cached pages.
	maxEntries = 128
)

// pageCache caches pages. Concurrent requests for the same page share one rendering.
// The zero value is ready.
type pageCache struct {
	mu  sync.Mutex
	all map[string]*entry
}

// entry is a page that is rendered or being rendered.
type entry struct {
	// ready is closed after page and err are set.
	ready chan struct{}
	// at is when it was rendered; zero until then.
	at   time.Time
	made *renderedPage
	err  error
}

// get returns the page of a key: from the cache, from a rendering in progress, or from a new one.
// Errors go to all that wait, and are not cached.
func (m *pageCache) get(ctx context.Context, key string, now func() time.Time, make func() (*renderedPage, error)) (*renderedPage, error) {
	e, mine := m.claim(key, now())
	if mine {
		go m.fill(key, e, now, make)
	}
	select {
	case <-e.ready:
		return e.made, e.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// claim returns the entry of a key. If mine is true, the caller must fill it.
func (m *pageCache) claim(key string, now time.Time) (e *entry, mine bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.all[key]; e != nil && (e.at.IsZero() || now.Sub(e.at) < maxAge) {
		return e, false
	}
	if m.all == nil {
		m.all = map[string]*entry{}
	}
	for other, e := range m.all {
		if !e.at.IsZero() && (now.Sub(e.at) >= maxAge || len(m.all) >= maxEntries) {
			delete(m.all, other)
		}
	}
	e = &entry{ready: make(chan struct{})}
	m.all[key] = e
	return e, true
}

// fill renders a page. A panic becomes the error of all that wait.
func (m *pageCache) fill(key string, e *entry, now func() time.Time, make func() (*renderedPage, error)) {
	e.err = errBroken
	defer func() {
		if cause := recover(); cause != nil {
			e.err = &panicError{cause: cause, stack: debug.Stack()}
		}
		m.mu.Lock()
		e.at = now()
		if e.err != nil && m.all[key] == e {
			delete(m.all, key)
		}
		m.mu.Unlock()
		close(e.ready)
	}()
	e.made, e.err = make()
}
