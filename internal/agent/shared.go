package agent

import (
	"context"
	"sync"
)

// shared lets several agents use one watcher, each for one of the clusters that it knows something about.
type shared struct {
	cluster Cluster
	views   []*view

	mu    sync.Mutex
	stale bool
	last  Snapshot
}

// view is the part of a watcher's snapshots that is about one cluster: the watched one if the name is empty.
type view struct {
	*shared
	name    string
	changed chan struct{}
}

func newShared(c Cluster, others []string) *shared {
	s := &shared{cluster: c, stale: true}
	for _, name := range append([]string{""}, others...) {
		s.views = append(s.views, &view{s, name, make(chan struct{}, 1)})
	}
	return s
}

// run passes on the signals of the watcher, until the context ends.
func (s *shared) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.cluster.Changed():
		}
		s.mu.Lock()
		s.stale = true
		s.mu.Unlock()
		for _, v := range s.views {
			select {
			case v.changed <- struct{}{}:
			default: // a value is waiting
			}
		}
	}
}

// snapshot returns the snapshot since the last signal, which is the same for all.
func (s *shared) snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stale {
		s.stale, s.last = false, s.cluster.Snapshot()
	}
	return s.last
}

// Run implements [Cluster].
func (v *view) Run(ctx context.Context) { <-ctx.Done() }

// Changed implements [Cluster].
func (v *view) Changed() <-chan struct{} { return v.changed }

// Snapshot implements [Cluster]. A cluster about which nothing could be read has an incomplete snapshot, which sends no heartbeat.
func (v *view) Snapshot() Snapshot {
	all := v.snapshot()
	if v.name == "" {
		return all
	}
	reports, known := all.Others[v.name]
	return Snapshot{Reports: reports, Complete: all.Complete && known, Alive: all.Alive && known}
}
