package sandbox

import (
	"context"
	"slices"
	"sync"
)

// Pool limits how many processes run at once, and shares them fairly: who has the fewest running processes gets the next one. So a source
// with slow charts delays its own work, and not that of others. The zero value is ready; a nil pool limits nothing.
type Pool struct {
	// Size is the number of processes. Default: 4.
	Size int
	// Share is the number of processes of one owner. Default: half of Size.
	Share int
	// Limits are those of processes whose runner has none.
	Limits Limits

	mu      sync.Mutex
	running map[string]int
	total   int
	started int
	waiting []*waiter
}

// waiter waits for a process.
type waiter struct {
	owner string
	begin chan struct{}
}

// defaultSize is the default number of processes. Each may take all memory that the limits allow.
const defaultSize = 4

func (p *Pool) size() int {
	if p.Size > 0 {
		return p.Size
	}
	return defaultSize
}

func (p *Pool) share() int {
	if p.Share > 0 {
		return p.Share
	}
	return max(1, p.size()/2)
}

// ownerKey is the key of an owner in a context.
type ownerKey struct{}

// For returns a context for rendering on behalf of an owner, such as an environment or an application.
func For(ctx context.Context, owner string) context.Context {
	return context.WithValue(ctx, ownerKey{}, owner)
}

// acquire waits until a process may start. The error is that of the context.
func (p *Pool) acquire(ctx context.Context) (release func(), err error) {
	if p == nil {
		return func() {}, nil
	}
	owner, _ := ctx.Value(ownerKey{}).(string)
	w := &waiter{owner, make(chan struct{})}
	p.mu.Lock()
	p.waiting = append(p.waiting, w)
	p.next()
	p.mu.Unlock()
	release = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.total--
		if p.running[owner]--; p.running[owner] == 0 {
			delete(p.running, owner)
		}
		p.next()
	}
	select {
	case <-w.begin:
		return release, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	i := slices.Index(p.waiting, w)
	if i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	}
	p.mu.Unlock()
	if i < 0 { // it may start at the same moment
		release()
	}
	return nil, ctx.Err()
}

// next lets those begin for whom there is room. The caller holds the lock.
func (p *Pool) next() {
	for p.total < p.size() {
		best := -1
		for i, w := range p.waiting {
			if p.running[w.owner] < p.share() && (best < 0 || p.running[w.owner] < p.running[p.waiting[best].owner]) {
				best = i
			}
		}
		if best < 0 {
			return
		}
		w := p.waiting[best]
		p.waiting = slices.Delete(p.waiting, best, best+1)
		if p.running == nil {
			p.running = map[string]int{}
		}
		p.running[w.owner]++
		p.started++
		p.total++
		close(w.begin)
	}
}
