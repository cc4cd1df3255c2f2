package scanner

import (
	"context"
	"sync"
)

// background runs work in goroutines, one at a time for each key. The zero value is ready to use.
type background struct {
	mu     sync.Mutex
	active map[string]bool
	// places limits the number of goroutines that work at once.
	places chan struct{}
	// ended is closed and replaced whenever work has ended.
	ended  chan struct{}
	closed bool
	ctx    context.Context
	cancel context.CancelFunc
	wait   sync.WaitGroup
}

// start starts work for a key, unless it is active already. At most parallel functions run at once; others are queued.
// notify is called at the end if work returns true. start returns false after close.
func (b *background) start(key string, parallel int, work func(context.Context) (news bool), notify func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.active[key] {
		return !b.closed
	}
	if b.active == nil {
		b.active, b.places = map[string]bool{}, make(chan struct{}, parallel)
		b.ctx, b.cancel = context.WithCancel(context.Background())
	}
	b.active[key] = true
	b.wait.Go(func() {
		news := false
		select {
		case b.places <- struct{}{}:
			news = work(b.ctx)
			<-b.places
		case <-b.ctx.Done():
		}
		b.end(key)
		if news && notify != nil && b.ctx.Err() == nil {
			notify()
		}
	})
	return true
}

func (b *background) end(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.active, key)
	if b.ended != nil {
		close(b.ended)
		b.ended = nil
	}
}

// next returns a channel that is closed when the next work ends.
func (b *background) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended == nil {
		b.ended = make(chan struct{})
	}
	return b.ended
}

func (b *background) close() {
	b.mu.Lock()
	b.closed = true
	if b.cancel != nil {
		b.cancel()
	}
	b.mu.Unlock()
	b.wait.Wait()
}
