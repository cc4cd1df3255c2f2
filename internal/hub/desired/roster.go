package desired

import (
	"context"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

const (
	// rosterFresh is how long registrations are used, unless they are said to have changed.
	rosterFresh = 5 * time.Second
	// rosterSingle is how many registrations are read one by one in this time. If more clusters ask, all are read at once, for all that ask.
	rosterSingle = 20
	// rosterPatience bounds the reading of all registrations.
	rosterPatience = 20 * time.Second
)

// roster has the registrations of clusters. Thousands of clusters that wait cost one read of the ledger in rosterFresh, not one each.
type roster struct {
	mu sync.Mutex
	// changes counts the calls of renew.
	changes int
	// since is when the current period began, and single how many registrations were read one by one in it.
	since  time.Time
	single int
	last   *reading
}

// reading is one read of all registrations.
type reading struct {
	began   time.Time
	changes int
	done    chan struct{}
	all     map[string]ledger.Cluster
	err     error
}

func (r *reading) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

func (r *roster) renew() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes++
}

// readCluster reads a cluster now; zero if it is unknown.
func readCluster(ctx context.Context, from Clusters, name string, _ time.Time) (ledger.Cluster, error) {
	found, err := from.Clusters(ctx, ledger.ClusterQuery{Name: name})
	if err != nil || len(found) == 0 {
		return ledger.Cluster{}, err
	}
	return found[0], nil
}

// cluster returns a cluster; zero if it is unknown.
func (r *roster) cluster(ctx context.Context, from Clusters, name string, now time.Time) (ledger.Cluster, error) {
	last := r.reading(ctx, from, now)
	if last == nil {
		return readCluster(ctx, from, name, now)
	}
	select {
	case <-last.done:
		return last.all[name], last.err
	case <-ctx.Done():
		return ledger.Cluster{}, ctx.Err()
	}
}

// reading returns a read of all registrations that has everything that renew was called for; nil if few clusters ask, or an older read has not ended.
func (r *roster) reading(ctx context.Context, from Clusters, now time.Time) *reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := func(at time.Time) bool { return now.Sub(at) >= rosterFresh || now.Before(at) }
	if r.last != nil && r.last.changes == r.changes && !old(r.last.began) {
		return r.last
	}
	if old(r.since) {
		r.since, r.single = now, 0
	}
	if r.single < rosterSingle || r.last != nil && !r.last.ended() { // never two reads of all at a time
		r.single++
		return nil
	}
	next := &reading{began: now, changes: r.changes, done: make(chan struct{})}
	r.last = next
	go r.read(context.WithoutCancel(ctx), from, next)
	return next
}

func (r *roster) read(ctx context.Context, from Clusters, next *reading) {
	ctx, cancel := context.WithTimeout(ctx, rosterPatience)
	defer cancel()
	defer close(next.done)
	found, err := from.Clusters(ctx, ledger.ClusterQuery{})
	if next.err = err; err != nil {
		r.renew() // the next one that asks tries again
		return
	}
	next.all = make(map[string]ledger.Cluster, len(found))
	for _, c := range found {
		next.all[c.Name] = c
	}
}
