package web

import (
	"context"
	"runtime/debug"
	"sync"
	"time"
)

// The bounds of what is shared.
const (
	// freshness is how old an answer may be that is shared.
	freshness = time.Second
	// maxShared bounds how many answers are kept.
	maxShared = 128
)

// memo shares answers: of all who ask the same at once, one is answered and the others get a copy.
// The zero value is ready.
type memo struct {
	mu  sync.Mutex
	all map[string]*entry
}

// entry is an answer that is on its way or there.
type entry struct {
	// ready is closed when made and err are set.
	ready chan struct{}
	// at is when it was made; zero until then.
	at   time.Time
	made *made
	err  error
}

// get returns the answer of a key: one that is fresh, or the one that is being made, or a new one.
// Errors are shared by those who wait for them, and not kept.
func (m *memo) get(ctx context.Context, key string, now func() time.Time, make func() (*made, error)) (*made, error) {
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

// claim returns the entry of a key; mine says that the caller has to fill it.
func (m *memo) claim(key string, now time.Time) (e *entry, mine bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.all[key]; e != nil && (e.at.IsZero() || now.Sub(e.at) < freshness) {
		return e, false
	}
	if m.all == nil {
		m.all = map[string]*entry{}
	}
	for other, e := range m.all {
		if !e.at.IsZero() && (now.Sub(e.at) >= freshness || len(m.all) >= maxShared) {
			delete(m.all, other)
		}
	}
	e = &entry{ready: make(chan struct{})}
	m.all[key] = e
	return e, true
}

// fill makes an answer. A panic is the error of all who wait, so that none of them waits for ever.
func (m *memo) fill(key string, e *entry, now func() time.Time, make func() (*made, error)) {
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
