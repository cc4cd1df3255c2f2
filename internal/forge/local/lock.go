package local

import (
	"context"
	"sync"
)

// locks serializes writes to a repository.
type locks struct {
	mu  sync.Mutex
	all map[int64]chan struct{}
}

// lock waits for the lock, or until the context ends.
func (l *locks) lock(ctx context.Context, repository int64) (unlock func(), err error) {
	l.mu.Lock()
	if l.all == nil {
		l.all = map[int64]chan struct{}{}
	}
	turn, ok := l.all[repository]
	if !ok {
		turn = make(chan struct{}, 1)
		l.all[repository] = turn
	}
	l.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
