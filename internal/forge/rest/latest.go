package rest

import "sync"

// Latest remembers what a forge answered to writes, because it can answer reads from copies that are late. The zero value is empty.
type Latest[T any] struct {
	mu  sync.Mutex
	all map[string]T
}

// maxLatest limits how many answers are remembered. Reads are late for seconds, so all may be forgotten then.
const maxLatest = 1000

// Wrote remembers the answer to a write.
func (l *Latest[T]) Wrote(key string, answer T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil || len(l.all) >= maxLatest {
		l.all = map[string]T{}
	}
	l.all[key] = answer
}

// Newest returns what was read, unless what was written is newer.
func (l *Latest[T]) Newest(key string, read T, newer func(written, read T) bool) T {
	l.mu.Lock()
	defer l.mu.Unlock()
	if written, ok := l.all[key]; ok && newer(written, read) {
		return written
	}
	return read
}
