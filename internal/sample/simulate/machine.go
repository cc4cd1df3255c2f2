package simulate

import (
	"context"
	"hash/fnv"
	"log/slog"
	"maps"
	"math/rand/v2"
	"sync"
	"time"
)

// machine is a running simulated cluster.
type machine struct {
	Cluster
	config Config
	reporter
	log *slog.Logger

	// mu guards the fields below. It is not held during requests.
	mu        sync.Mutex
	behaviour Behaviour
	random    *rand.Rand
	store     *store
	sources   map[string]*source
	works     map[key]*work
	followers []*follower // of the version of the store below
	version   uint64
	// epoch changes when failed attempts should be retried at once.
	epoch int
	// changed means that the status of a reconciler differs from what was reported.
	changed bool
	started time.Time
	now     time.Time // of the last step
	next    time.Time // when there is something to do
	// woken means at once; stale means that sources have to be polled early.
	woken, stale bool
}

func newMachine(c Cluster, config Config) *machine {
	name := fnv.New64a()
	_, _ = name.Write([]byte(c.Name))
	return &machine{
		Cluster: c, config: config, log: config.Log.With("cluster", c.Name),
		random: rand.New(rand.NewPCG(config.Seed, name.Sum64())),
		store:  newStore(c.Reconciler), sources: map[string]*source{}, works: map[key]*work{},
	}
}

// maxRounds limits a step: each round goes one reconciler deeper.
const maxRounds = 50

// step advances a cluster to a time, and returns when it has something to do next.
func (m *machine) step(ctx context.Context, now time.Time) time.Time {
	if wait, ok := m.begin(now); !ok {
		return wait
	}
	for range maxRounds {
		m.poll(ctx, m.dueSources(now), now)
		if ctx.Err() != nil {
			return now // what was not done is still to be done
		}
		if !m.reconcile(ctx, now) {
			break
		}
	}
	m.report(ctx, now)
	return m.end(now)
}

// begin reports whether there is anything to do now, and if not, when.
func (m *machine) begin(now time.Time) (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.started.IsZero() {
		m.bootstrap(now)
	}
	m.now = now
	if m.behaviour.Mode == Offline {
		return now.Add(m.config.Poll), false
	}
	due := m.woken || !now.Before(m.next)
	if m.stale {
		for _, s := range m.sources {
			s.next = time.Time{}
		}
	}
	m.woken, m.stale = false, false
	return m.next, due
}

// end returns when there is something to do next.
func (m *machine) end(now time.Time) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := m.reporter.next
	sooner := func(t time.Time) {
		if t.After(now) && t.Before(next) {
			next = t
		}
	}
	for _, s := range m.sources {
		sooner(s.next)
	}
	for _, w := range m.works {
		sooner(w.due())
	}
	m.next = next
	if m.woken {
		return now
	}
	return next
}

// delay returns how long something takes.
func (m *machine) delay() time.Duration {
	d := m.config.Delay.Least
	if span := m.config.Delay.Most - d; span > 0 {
		d += time.Duration(m.random.Int64N(int64(span) + 1))
	}
	return m.lagging(d)
}

func (m *machine) lagging(d time.Duration) time.Duration {
	return time.Duration(float64(d) * m.behaviour.lag())
}

// reconcile lets each reconciler do what it can do now, and reports whether that may concern others.
func (m *machine) reconcile(ctx context.Context, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.readFollowers()
	changed := false
	for _, f := range m.followers {
		if m.store.entries[f.key] != f.entry {
			continue // another one has removed it just now
		}
		changed = m.advance(ctx, f, now) || changed
	}
	return changed || m.version != m.store.version
}

// readFollowers reads reconcilers and sources again after any object changed, and forgets deleted ones.
func (m *machine) readFollowers() {
	if m.version == m.store.version {
		return
	}
	m.version, m.followers = m.store.version, nil
	there := map[key]bool{}
	for e := range m.store.sorted() {
		switch {
		case e.group == sourceGroup:
			m.readSource(e)
		case e.group == kustomizeGroup && e.kind == "Kustomization":
			m.followers = append(m.followers, readKustomization(e))
		case e.group == helmGroup && e.kind == "HelmRelease":
			m.followers = append(m.followers, readRelease(e))
		case e.group == argoGroup && e.kind == "Application":
			m.followers = append(m.followers, m.readApplication(e))
		}
	}
	for _, f := range m.followers {
		there[f.key] = true
		if m.works[f.key] == nil {
			m.works[f.key] = &work{}
		}
	}
	maps.DeleteFunc(m.sources, func(_ string, s *source) bool { return s.version != m.version })
	maps.DeleteFunc(m.works, func(k key, _ *work) bool { return !there[k] })
	m.changed = true
}
