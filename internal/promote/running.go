package promote

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// running holds the measurements that run in the background, and those that wait for a place. The zero value is empty.
type running struct {
	mu      sync.Mutex
	active  map[checkKey]bool
	waiting []waitingCheck // the one that has waited longest first
	closed  bool
	ctx     context.Context
	cancel  context.CancelFunc
	wait    sync.WaitGroup
	signal  chan struct{} // returned by ended
}

type checkKey struct{ subject, environment, revision, name string }

// waitingCheck is a measurement that found no place, and when a round last asked for it.
type waitingCheck struct {
	checkKey
	asked time.Time
}

const (
	// defaultChecks is the default of MaxChecks.
	defaultChecks = 4
	// forgetAfter is when a waiting measurement that no round asks for any more loses its turn.
	forgetAfter = 2 * countInterval
)

// start registers a measurement. It returns false if the measurement is already running, or has to wait for its turn:
// each place is for the one that has waited longest, so that many short measurements do not keep others out.
func (r *running) start(key checkKey, limit int, now time.Time) (context.Context, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.active[key] {
		return nil, false
	}
	r.waiting = slices.DeleteFunc(r.waiting, func(w waitingCheck) bool { return w.checkKey != key && now.Sub(w.asked).Abs() > forgetAfter })
	turn := slices.IndexFunc(r.waiting, func(w waitingCheck) bool { return w.checkKey == key })
	if turn < 0 {
		turn = len(r.waiting)
		r.waiting = append(r.waiting, waitingCheck{checkKey: key})
	}
	r.waiting[turn].asked = now
	if len(r.active)+turn >= limit {
		return nil, false
	}
	r.waiting = slices.Delete(r.waiting, turn, turn+1)
	if r.active == nil {
		r.active = map[checkKey]bool{}
		r.ctx, r.cancel = context.WithCancel(context.Background())
	}
	r.active[key] = true
	r.wait.Add(1)
	return r.ctx, true
}

// end removes a measurement, and returns the subjects that need a round: its own, and that of the next one.
func (r *running) end(key checkKey) []string {
	r.mu.Lock()
	delete(r.active, key)
	subjects := []string{key.subject}
	if len(r.waiting) > 0 && r.waiting[0].subject != key.subject {
		subjects = append(subjects, r.waiting[0].subject)
	}
	r.mu.Unlock()
	select {
	case r.ended() <- struct{}{}:
	default:
	}
	r.wait.Done()
	return subjects
}

// ended returns a channel that receives a value when a measurement ends.
func (r *running) ended() chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.signal == nil {
		r.signal = make(chan struct{}, 1)
	}
	return r.signal
}

func (r *running) close() {
	r.mu.Lock()
	r.closed = true
	if r.cancel != nil {
		r.cancel()
	}
	r.mu.Unlock()
	r.wait.Wait()
}

// snapshot returns the running measurements.
func (r *running) snapshot() map[checkKey]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.active)
}
